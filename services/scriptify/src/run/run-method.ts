import { existsSync } from 'node:fs'
import type { CliContext } from '../io/cli-context.ts'
import { CliError, EXIT } from '../io/cli-error.ts'
import { parseEnvEntries, readEnvFiles } from '../io/env-entries.ts'
import { type CommandWords, replaceProcess } from '../io/replace-process.ts'
import { SETTINGS } from '../scriptify-settings.ts'
import type { MethodTask } from './method-call.ts'
import { type CallOptions, loadRuntime, resolveCall } from './resolve-call.ts'

export interface RunOptions extends CallOptions {
  reference: string
  env: readonly string[]
  /** The files with further variables. */
  envFiles?: readonly string[]
  /** Seconds until the method is ended. */
  timeout?: number
  /** The task to do with the method; where only a class is named, its methods are listed. */
  task: MethodTask
}

/**
 * Replaces this process by the one that calls the method, prints its documentation, or lists the methods of a class.
 * Throws a CliError.
 */
export async function runMethod(
  { reference, env: entries, envFiles = [], timeout, task, ...options }: RunOptions,
  { env: inherited, replace = replaceProcess }: CliContext,
): Promise<number> {
  const env = { ...inherited, ...readEnvFiles(envFiles), ...parseEnvEntries(entries) }
  const call = await resolveCall(reference, options, env)
  const runtime = await loadRuntime(call.reference.runtime)
  const what = call.reference.method === '' ? 'methods' : task
  const trace = call.trace || Boolean(env[SETTINGS.debug.name])
  const command = await runtime.command({ ...call, trace }, { ...env, PATH: inherited.PATH }, what)
  return replace(timeout === undefined ? command : limitTime(command, timeout), env)
}

/** The command below coreutils' timeout: SIGTERM after this time, and ten seconds later SIGKILL. */
function limitTime(command: CommandWords, seconds: number): CommandWords {
  const program = ['/usr/bin/timeout', '/bin/timeout'].find((path) => existsSync(path))
  if (program === undefined)
    throw new CliError('--timeout needs the program timeout: install coreutils', EXIT.notFound)
  // In the foreground Ctrl-C reaches the method, and it may read from the terminal.
  return [program, '--foreground', '--kill-after=10', `${seconds}`, ...command]
}
