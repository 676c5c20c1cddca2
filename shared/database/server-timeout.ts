/**
 * How long the server may work on a statement whose client waits for `clientTimeoutMs`, in milliseconds. It has to give
 * up first: one that waits for a lock does not see its client go, and each new connection would leave one more there.
 */
export const serverTimeoutMs = (clientTimeoutMs: number): number =>
  Math.max(clientTimeoutMs - 1_000, Math.ceil(clientTimeoutMs / 2))
