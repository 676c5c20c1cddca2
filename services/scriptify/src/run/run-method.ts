import type { CliContext } from '../io/cli-context.ts'
import { parseEnvEntries } from '../io/env-entries.ts'
import { loadRuntime } from './load-runtime.ts'
import type { MethodTask } from './method-call.ts'
import { replaceProcess } from './replace-process.ts'
import { type CallOptions, resolveCall } from './resolve-call.ts'

export interface RunOptions extends CallOptions {
  reference: string
  env: readonly string[]
  /** What to do with the method; where only a class is named, its methods are listed. */
  task: MethodTask
}

/**
 * Replaces this process by the one that calls the method, prints its documentation, or lists the methods of a class.
 * Throws a CliError.
 */
export async function runMethod(
  { reference, env: entries, task, ...options }: RunOptions,
  { env: inherited, replace = replaceProcess }: CliContext,
): Promise<number> {
  const env = { ...inherited, ...parseEnvEntries(entries) }
  const call = await resolveCall(reference, options, env)
  const runtime = await loadRuntime(call.reference.runtime)
  const what = call.reference.method === '' ? 'methods' : task
  return replace(await runtime.command(call, { ...env, PATH: inherited.PATH }, what), env)
}
