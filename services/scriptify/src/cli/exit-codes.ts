/** The exit codes of the CLI; `endpoint` adds 7, 22 and 28, a signal 128 + its number. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notPermitted: 4,
  runtimeMissing: 5,
  /** 128 + SIGPIPE, which Node ignores: the output has no reader. */
  outputClosed: 141,
} as const
