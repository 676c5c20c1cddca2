import type { Clock } from '@latchkey/shared/time/clock.ts'
import { Gauge, type Registry } from 'prom-client'

/** Clocks that are synchronised differ by less. */
const TOLERATED_SECONDS = 1
/** The time for which a token from the future is shown as skew. */
const SHOWN_MS = 300_000
const LOG_PAUSE_MS = 60_000

export interface ClockSkewDependencies {
  registry: Registry
  logger: { warn(details: object, message: string): void }
  localNow: Clock
}

/** Creates the function that reports by how many seconds a token of a replica is ahead of the clock of this one. */
export function createClockSkew({ registry, logger, localNow }: ClockSkewDependencies) {
  let skew = { seconds: 0, at: Number.NEGATIVE_INFINITY }
  let loggedAt = Number.NEGATIVE_INFINITY
  const read = () => (localNow() - skew.at < SHOWN_MS ? skew.seconds : 0)
  new Gauge({
    name: 'latchkey_clock_skew_seconds',
    help: 'The time by which tokens of other replicas were ahead of the clock of this one in the last five minutes',
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
  return (aheadSeconds: number): void => {
    if (aheadSeconds <= TOLERATED_SECONDS) return
    const now = localNow()
    skew = { seconds: Math.max(read(), aheadSeconds), at: now }
    if (now - loggedAt < LOG_PAUSE_MS) return
    loggedAt = now
    logger.warn(
      { aheadSeconds: Math.round(aheadSeconds) },
      'a token is from the future: the clock of the replica that issued it is ahead, or that of this one is behind; synchronise both (NTP)',
    )
  }
}
