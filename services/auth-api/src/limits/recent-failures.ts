import type { CreateCounter } from './counters.ts'
import type { Counted } from './memory-counter.ts'
import type { EarlierAttempts } from './pending-attempts.ts'

/** What failures are counted by. */
export interface FailureKeys {
  address: string
  account: string
  /** Both together. */
  pair: string
}

/** The failures of the current minute, by key. */
export type RecentFailures = Readonly<Record<keyof FailureKeys, Counted>>

const MINUTE_MS = 60_000

/** Counts failures called `name` by address, by account and by both. */
export function createRecentFailures(name: string, createCounter: CreateCounter) {
  const addresses = createCounter(`${name}-address`, MINUTE_MS)
  const accounts = createCounter(`${name}-account`, MINUTE_MS)
  const pairs = createCounter(`${name}-pair`, MINUTE_MS)

  return {
    async count(keys: FailureKeys): Promise<void> {
      await Promise.all([addresses.count(keys.address), accounts.count(keys.account), pairs.count(keys.pair)])
    },
    async read(keys: FailureKeys): Promise<RecentFailures> {
      const [address, account, pair] = await Promise.all([
        addresses.read(keys.address),
        accounts.read(keys.account),
        pairs.read(keys.pair),
      ])
      return { address, account, pair }
    },
  }
}

/**
 * Whether an attempt may begin. Earlier pending attempts count as failures until they have ended: forty concurrent guesses
 * gain nothing over forty sequential ones. Beyond its limit an account accepts one failure a minute from each address:
 * guesses from many addresses are slowed down, and the owner, at an address without a failure, gets in.
 */
export function isWithinLimit(
  failures: RecentFailures,
  keys: FailureKeys,
  earlier: EarlierAttempts,
  limit: number,
): boolean {
  const count = (by: keyof FailureKeys) => failures[by].current + (earlier.get(keys[by]) ?? 0)
  return count('address') < limit && (count('account') < limit || count('pair') === 0)
}

/** When the last of the limits that refuse an attempt ends. */
export function secondsUntilAllowed({ address, account, pair }: RecentFailures, limit: number): number {
  const ofAddress = address.current < limit ? 0 : address.retryAfterSeconds
  const ofAccount = account.current < limit ? 0 : pair.retryAfterSeconds
  return Math.max(ofAddress, ofAccount)
}
