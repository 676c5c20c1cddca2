import { CliError, EXIT } from './cli-error.ts'
import { blockOnUse } from './standard-streams.ts'

/** The absolute path of a program, and its arguments. */
export type CommandWords = readonly [string, ...string[]]

/** Linux's MAX_ARG_STRLEN without the NUL. A failing execve would end Node by SIGABRT. */
const MAX_WORD_BYTES = 131_071

/**
 * Replaces this process, so that the program has its pid, its signals and its exit code. A parent process would have to
 * forward signals, and Ctrl-C would reach both.
 */
export function replaceProcess([file, ...args]: CommandWords, env: NodeJS.ProcessEnv): never {
  if (args.some((word) => Buffer.byteLength(word) > MAX_WORD_BYTES)) {
    throw new CliError(`An argument is too long for the system: at most ${MAX_WORD_BYTES} bytes`, EXIT.usage)
  }
  if (process.execve === undefined)
    throw new CliError('This system cannot replace a process: run scriptify on Linux', EXIT.failed)
  // Node ignores SIGPIPE, and the new program would inherit that; a signal with a handler is reset to its default.
  process.on('SIGPIPE', () => undefined)
  // Node makes pipes and terminals non-blocking, where php and the programs of the caller's shell lose data.
  for (const stream of [process.stdin, process.stdout, process.stderr]) blockOnUse(stream)
  const defined = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return process.execve(file, [file, ...args], Object.fromEntries(defined))
}
