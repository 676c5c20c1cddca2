import type { MethodCall } from './runtime.ts'

/** What a launcher program is to do with the method. */
export type LauncherTask = 'call' | 'check' | 'docs'

/** The options that every language's launcher takes before `--`, `Class::method` and the arguments. */
export function launcherOptions(call: MethodCall, task: LauncherTask): string[] {
  const { reference, rootdir, bootstrap, daemon, jsonArgs = [], loose, print } = call
  return [
    ...(task === 'call' ? [] : [`--task=${task}`]),
    ...(task === 'docs' ? [`--as=${reference.text}`] : []),
    `--rootdir=${rootdir}`,
    ...(bootstrap === undefined ? [] : [`--bootstrap=${bootstrap}`]),
    ...(daemon === undefined ? [] : [`--daemon=${daemon.interval}`]),
    ...(daemon?.keepGoing ? ['--keep-going'] : []),
    ...(jsonArgs.length === 0 ? [] : [`--json=${jsonArgs.join(',')}`]),
    ...(loose ? ['--loose'] : []),
    ...(print ? ['--print'] : []),
  ]
}
