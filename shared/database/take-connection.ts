import type { DriverErrors } from './database.ts'
import { isFull } from './to-app-error.ts'

/** The time for which a full server is asked for no further connection. */
const FULL_HOLDS_MS = 1_000

interface Pool<Connection> {
  /** Takes a connection of the pool, or opens one while the pool has fewer than its limit. */
  take(): Promise<Connection>
  /** Connections that are established; those that are being opened may all be refused. */
  open(): number
  limit(connections: number): void
  size: number
}

/**
 * Returns the function that takes a connection of `pool`. While the server refuses further ones, the pool is as large as it
 * is, so that callers wait for one of those that it has.
 */
export function createTake<Connection>(
  { take, open, limit, size }: Pool<Connection>,
  errors: DriverErrors,
): () => Promise<Connection> {
  let fullUntil = 0
  return async () => {
    if (performance.now() >= fullUntil) limit(size)
    for (let attempt = 1; ; attempt++) {
      try {
        return await take()
      } catch (error) {
        const opened = open()
        // At first, a connection may have become free meanwhile.
        if (!isFull(error, errors) || (opened === 0 && attempt > 1)) throw error
        limit(Math.max(opened, 1))
        fullUntil = performance.now() + FULL_HOLDS_MS
      }
    }
  }
}
