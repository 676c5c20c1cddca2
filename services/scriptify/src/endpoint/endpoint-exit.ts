/** The exit codes that `endpoint` adds; the first three are curl's. */
export const ENDPOINT_EXIT = {
  noAnswer: 7,
  httpError: 22,
  timeout: 28,
  /** 128 + SIGPIPE: the reader of our output has left. */
  outputClosed: 141,
} as const
