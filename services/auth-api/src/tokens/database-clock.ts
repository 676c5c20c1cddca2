import { type Pong, ping } from '@latchkey/shared/database/ping.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'

export type DatabaseClock = ReturnType<typeof createDatabaseClock>

/**
 * Creates the clock of the database, which all replicas share. It is for times that one replica stores and another one
 * compares: with its own clock, a replica that is two minutes off would end sessions and mail codes that others refuse.
 * Exceptions are the times of `user_session`, which are those of tokens, and times that are compared by the hour or the day:
 * those of events and of second factors.
 */
export function createDatabaseClock(localNow: Clock) {
  let aheadMs = 0
  return {
    /** The time of the database, as of the last `synchronise`. */
    now: (): number => localNow() - aheadMs,

    /**
     * Sets this clock by that of the database, if it says its time. `aheadMs` is by how many milliseconds the clock of this
     * process is ahead of it; less than 0 where it is behind. Rejects as `ping` does.
     */
    async synchronise(db: Parameters<typeof ping>[0]): Promise<{ aheadMs: number; busy: Pong['busy'] }> {
      const before = localNow()
      const { now, busy } = await ping(db)
      const after = localNow()
      const time = now?.getTime()
      // The database read its clock while it was pinged, about halfway.
      if (time !== undefined) aheadMs = before <= time && time <= after ? 0 : (before + after) / 2 - time
      return { aheadMs, busy }
    },
  }
}
