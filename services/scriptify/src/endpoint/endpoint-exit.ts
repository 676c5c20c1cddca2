/** The exit codes that `endpoint` adds; the first three are curl's. */
export const ENDPOINT_EXIT = {
  noResponse: 7,
  httpError: 22,
  timeout: 28,
} as const
