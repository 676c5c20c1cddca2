import { CliError } from '../cli-error.ts'
import { parseEnvEntries } from '../env-entries.ts'
import { EXIT } from '../exit-codes.ts'
import { methodRuntimes } from '../runtimes/registry.ts'
import type { CommandWords } from '../runtimes/runtime.ts'
import { type CallOptions, resolveCall } from './resolve-call.ts'

/** Linux's MAX_ARG_STRLEN, without the NUL; a failing execve would end Node by SIGABRT. */
const LONGEST_WORD = 131_071

export interface RunOptions extends CallOptions {
  reference: string
  env: readonly string[]
  showdocs: boolean
}

/** Becomes the process that calls the method, or prints its documentation; comes back only by a CliError. */
export async function runMethod({
  reference,
  env: entries,
  showdocs,
  ...options
}: RunOptions): Promise<never> {
  const paths = [reference, options.rootdir, options.bootstrap]
  const unreadable = paths.find((text) => text !== undefined && !text.isWellFormed())
  if (unreadable !== undefined) {
    throw new CliError(`${JSON.stringify(unreadable)} is no UTF-8; only an --arg may be so`, EXIT.usage)
  }
  const env = { ...process.env, ...parseEnvEntries(entries) }
  const call = await resolveCall(reference, options, env)
  const runtime = methodRuntimes[call.reference.runtime]
  become(await (showdocs ? runtime.docsCommand(call, env) : runtime.command(call, env)), env)
}

/**
 * The method gets this very process: its pid, its signals, its end. A process of ours in between would have to hand
 * signals on, and Ctrl-C reaches both.
 */
function become([file, ...args]: CommandWords, env: NodeJS.ProcessEnv): never {
  // Only an argument can be that long; what is handed over is longer than what came where it is no UTF-8.
  if (args.some((word) => Buffer.byteLength(word) > LONGEST_WORD)) {
    throw new CliError(`An argument is too long to be handed over: ${LONGEST_WORD} bytes at most`, EXIT.usage)
  }
  if (process.execve === undefined) throw new CliError('This system cannot replace a process', EXIT.failed)
  // Node ignores SIGPIPE, which would be handed down; a signal with a handler gets its usual effect back.
  process.on('SIGPIPE', () => undefined)
  const defined = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return process.execve(file, [file, ...args], Object.fromEntries(defined))
}
