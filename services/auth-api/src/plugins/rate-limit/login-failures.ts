import type { FastifyRequest } from 'fastify'
import type { Counted, CreateCounter } from './counters.ts'
import type { EarlierAttempts } from './pending-attempts.ts'

/** What failed logins are counted by. */
export interface LoginKeys {
  address: string
  account: string
  /** Both together. */
  pair: string
}

/** The failed logins of the current minute, by key. */
export type LoginFailures = Readonly<Record<keyof LoginKeys, Counted>>

const MINUTE_MS = 60_000

/** Counts failed logins by address, by account and by both. */
export function createLoginFailures(createCounter: CreateCounter) {
  const addresses = createCounter('login-address', MINUTE_MS)
  const accounts = createCounter('login-account', MINUTE_MS)
  const pairs = createCounter('login-pair', MINUTE_MS)

  return {
    async count(request: FastifyRequest, keys: LoginKeys): Promise<void> {
      await addresses.count(request, keys.address)
      await accounts.count(request, keys.account)
      await pairs.count(request, keys.pair)
    },
    async read(request: FastifyRequest, keys: LoginKeys): Promise<LoginFailures> {
      const [address, account, pair] = await Promise.all([
        addresses.read(request, keys.address),
        accounts.read(request, keys.account),
        pairs.read(request, keys.pair),
      ])
      return { address, account, pair }
    },
  }
}

/**
 * Whether a login may begin. Earlier pending attempts count as failures until they have ended: forty concurrent guesses
 * gain nothing over forty sequential ones. Beyond its limit an account accepts one failure a minute from each address:
 * guesses from many addresses are slowed down, and the owner, at an address without a failure, gets in.
 */
export function isWithinLimit(
  failures: LoginFailures,
  keys: LoginKeys,
  earlier: EarlierAttempts,
  limit: number,
): boolean {
  const count = (by: keyof LoginKeys) => failures[by].current + (earlier.get(keys[by]) ?? 0)
  return count('address') < limit && (count('account') < limit || count('pair') === 0)
}

/** When the last of the limits that refuse a login ends. */
export function secondsUntilAllowed({ address, account, pair }: LoginFailures, limit: number): number {
  const ofAddress = address.current < limit ? 0 : address.retryAfterSeconds
  const ofAccount = account.current < limit ? 0 : pair.retryAfterSeconds
  return Math.max(ofAddress, ofAccount)
}
