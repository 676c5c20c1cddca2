import { CliError } from '../cli-error.ts'
import { parseEnvEntries } from '../env-entries.ts'
import { EXIT } from '../exit-codes.ts'
import { runtimes } from '../runtimes/registry.ts'
import type { CommandWords } from '../runtimes/runtime.ts'
import { type CallOptions, resolveCall } from './resolve-call.ts'

/** Linux's MAX_ARG_STRLEN without the NUL. A failing execve would end Node by SIGABRT. */
const MAX_WORD_BYTES = 131_071

export interface RunOptions extends CallOptions {
  reference: string
  env: readonly string[]
  showdocs: boolean
}

/** Becomes the process that calls the method, prints its documentation, or lists the methods of a class; only returns by throwing a CliError. */
export async function runMethod({
  reference,
  env: entries,
  showdocs,
  ...options
}: RunOptions): Promise<never> {
  demandUtf8([reference, options.rootdir, options.bootstrap])
  const env = { ...process.env, ...parseEnvEntries(entries) }
  const call = await resolveCall(reference, options, env)
  const runtime = runtimes[call.reference.runtime]
  if (call.reference.method === '') become(await runtime.methodsCommand(call, env), env)
  become(await (showdocs ? runtime.docsCommand(call, env) : runtime.callCommand(call, env)), env)
}

function demandUtf8(words: readonly (string | undefined)[]): void {
  const invalid = words.find((word) => word !== undefined && !word.isWellFormed())
  if (invalid === undefined) return
  throw new CliError(
    `${JSON.stringify(invalid)} is not UTF-8; only an --arg may contain other bytes`,
    EXIT.usage,
  )
}

/**
 * Replaces this process, so that the method has its pid, its signals and its exit code. A parent process would have to
 * forward signals, and Ctrl-C would reach both.
 */
function become([file, ...args]: CommandWords, env: NodeJS.ProcessEnv): never {
  // Only an argument can be that long; hexadecimal encoding doubles one that is not UTF-8.
  if (args.some((word) => Buffer.byteLength(word) > MAX_WORD_BYTES)) {
    throw new CliError(`An argument is too long for the system: at most ${MAX_WORD_BYTES} bytes`, EXIT.usage)
  }
  if (process.execve === undefined) throw new CliError('This system cannot replace a process', EXIT.failed)
  // Node ignores SIGPIPE, and the new program would inherit that; a signal with a handler is reset to its default.
  process.on('SIGPIPE', () => undefined)
  const defined = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return process.execve(file, [file, ...args], Object.fromEntries(defined))
}
