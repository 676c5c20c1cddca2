/** The exit codes of the CLI; a signal is 128 + its number. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  notPermitted: 4,
  runtimeMissing: 5,
  /** The exit codes of `endpoint`, which are those of curl. */
  noResponse: 7,
  httpError: 22,
  timeout: 28,
  /** 128 + SIGPIPE, which Node ignores: the output has no reader. */
  outputClosed: 141,
} as const
