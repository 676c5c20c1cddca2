import { type Counted, type CreateCounter, tooManyRequests } from './counters.ts'
import type { KnownAddresses } from './known-addresses.ts'
import { type LimitedClient, pairKey } from './limit-keys.ts'

export interface MailLimiterOptions {
  /** Prefix of the names of the counters. */
  name: string
  createCounter: CreateCounter
  accountKey: (account: string) => string
  knownAddresses: KnownAddresses
  /** Requests an hour per account, and a minute per address; 0 sets no limit. */
  mailRequests: number
}

/** Counts a request that sends a mail; throws `rate_limited` beyond the limit. */
export type LimitMail = (client: LimitedClient, account: string) => Promise<void>

const MINUTE = 60
const HOUR = 60 * MINUTE
/** Beyond its limit an account is granted one request from each further address, up to this multiple of the limit. */
const CEILING_FACTOR = 3

/**
 * Limits requests that send a mail, by address and by account. An attacker who spends the limit of an account must not lock
 * its owner out. So each further address is granted one request, up to a ceiling: without it an attacker with many addresses
 * would flood the mailbox. An address that is known for the account has a limit that no other address can spend.
 */
export function createMailLimiter(options: MailLimiterOptions): LimitMail {
  const { name, createCounter, accountKey, knownAddresses, mailRequests: limit } = options
  if (limit === 0) return async () => undefined
  const addresses = createCounter(`${name}-address`, MINUTE)
  const accounts = createCounter(`${name}-account`, HOUR)
  const pairs = createCounter(`${name}-pair`, HOUR)
  const ceiling = CEILING_FACTOR * limit

  return async (client, accountName) => {
    const { address } = client
    const account = accountKey(accountName)
    const pair = pairKey(address, account)
    requireAtMost(limit, await addresses.count(address))
    if (await knownAddresses.has(client, accountName)) return requireAtMost(limit, await pairs.count(pair))

    // A refused request does not count: one address could reach the ceiling with these. Nor does it begin the hour of its pair.
    const soFar = await accounts.read(account)
    const isSpent = soFar.count >= limit
    if (soFar.count >= ceiling || (isSpent && (await pairs.read(pair)).count > 0))
      throw tooManyRequests(soFar)
    // The count is checked again afterwards, for requests that arrive at the same time.
    const ofPair = await pairs.count(pair)
    if (isSpent && ofPair.count > 1) throw tooManyRequests(soFar)
    requireAtMost(ceiling, await accounts.count(account))
  }
}

function requireAtMost(limit: number, counted: Counted): void {
  if (counted.count > limit) throw tooManyRequests(counted)
}
