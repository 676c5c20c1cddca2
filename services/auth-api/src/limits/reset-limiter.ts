import type { FastifyRequest } from 'fastify'
import type { CreateCounter } from './counters.ts'
import type { KnownClients } from './known-clients.ts'
import { addressKey, pairKey } from './limit-keys.ts'
import { tooManyRequests } from './too-many-requests.ts'

export interface ResetLimiterOptions {
  /** Of the counters. */
  name: string
  createCounter: CreateCounter
  accountKey: (account: string) => string
  knownClients: KnownClients
  /** Reset requests an hour per account, and a minute per address; 0 sets no limit. */
  resetRequests: number
}

/** Counts a reset request; throws `rate_limited` beyond the limit. */
export type LimitReset = (request: FastifyRequest, account: string) => Promise<void>

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** Beyond its limit an account is granted one reset from each further address, up to this multiple of the limit. */
const CEILING_FACTOR = 3

/** Limits reset requests by address and by account, so that neither floods a mailbox nor locks its owner out. */
export function createResetLimiter(options: ResetLimiterOptions): LimitReset {
  const { name: counters, createCounter, accountKey, knownClients, resetRequests } = options
  if (resetRequests === 0) return async () => undefined
  const ofAddresses = createCounter(`${counters}-address`, MINUTE_MS)
  const limitAccount = createAccountLimiter(options)

  return async (request, name) => {
    const address = addressKey(request)
    const ofAddress = await ofAddresses.count(address)
    if (ofAddress.current > resetRequests) throw tooManyRequests(ofAddress.retryAfterSeconds)
    const isKnown = await knownClients.has(request, name)
    await limitAccount(address, accountKey(name), isKnown)
  }
}

/**
 * Grants an account its limit, and then one reset from each further address up to a ceiling: an attacker who spends the
 * limit must not keep the owner from asking. An address that is known for the account has a limit for itself: no other
 * address can spend it. A refused request does not count: the account's hour might begin with it on this replica, when
 * all replicas together began it long before.
 */
function createAccountLimiter({ name, createCounter, resetRequests }: ResetLimiterOptions) {
  const ofAccounts = createCounter(`${name}-account`, HOUR_MS)
  const ofPairs = createCounter(`${name}-pair`, HOUR_MS)
  const ceiling = CEILING_FACTOR * resetRequests

  async function limitKnown(pair: string): Promise<void> {
    const ofPair = await ofPairs.count(pair)
    if (ofPair.current > resetRequests) throw tooManyRequests(ofPair.retryAfterSeconds)
  }

  return async (address: string, account: string, isKnown: boolean): Promise<void> => {
    const pair = pairKey(address, account)
    if (isKnown) return limitKnown(pair)
    const soFar = await ofAccounts.read(account)
    const isSpent = soFar.current >= resetRequests
    const isClosed = soFar.current >= ceiling
    if (isClosed || (isSpent && (await ofPairs.read(pair)).current > 0))
      throw tooManyRequests(soFar.retryAfterSeconds)
    // Checked again after counting, for requests that arrive at the same time.
    const ofPair = await ofPairs.count(pair)
    if (isSpent && ofPair.current > 1) throw tooManyRequests(soFar.retryAfterSeconds)
    const ofAccount = await ofAccounts.count(account)
    if (ofAccount.current > ceiling) throw tooManyRequests(ofAccount.retryAfterSeconds)
  }
}
