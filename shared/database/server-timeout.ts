/**
 * Time limit on the server for a statement whose client waits for `clientTimeoutMs`, in milliseconds. The server has to
 * stop first: a statement that waits for a lock does not notice that its client has gone, and each new connection would
 * add another one.
 */
export const serverTimeoutMs = (clientTimeoutMs: number): number =>
  Math.max(clientTimeoutMs - 1_000, Math.ceil(clientTimeoutMs / 2))
