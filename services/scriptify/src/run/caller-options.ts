import type { MethodCall } from './method-call.ts'

/** What the program `call-method` of a runtime does with the method; `methods` lists those of the class. */
export type CallerTask = 'call' | 'check' | 'docs' | 'methods'

/** The options that `call-method` of every runtime takes before `--`, `Class::method` and the arguments. */
export function formatCallerOptions(call: MethodCall, task: CallerTask): string[] {
  const { reference, rootdir, bootstrap, daemon, jsonArgs = [], loose, print } = call
  return [
    ...(task === 'call' ? [] : [`--task=${task}`]),
    ...(task === 'docs' || task === 'methods' ? [`--as=${reference.text}`] : []),
    `--rootdir=${rootdir}`,
    ...(bootstrap === undefined ? [] : [`--bootstrap=${bootstrap}`]),
    ...(daemon === undefined ? [] : [`--daemon=${daemon.interval}`]),
    ...(daemon?.keepGoing ? ['--keep-going'] : []),
    ...(jsonArgs.length === 0 ? [] : [`--json=${jsonArgs.join(',')}`]),
    ...(loose ? ['--loose'] : []),
    ...(print ? ['--print'] : []),
  ]
}
