/** The time that the container of a server may take on a machine that builds images beside it. */
export const STARTUP_TIMEOUT_MS = 240_000
