import { AppError, type ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { createAttemptQueues } from './attempt-queues.ts'
import { type Counted, type CreateCounter, tooManyRequests } from './counters.ts'
import { type LimitedClient, pairKey } from './limit-keys.ts'

export interface FailureLimiterOptions {
  /** Prefix of the names of the counters. */
  name: string
  /** The errors that count as failures. */
  countedErrors: readonly ErrorCode[]
  createCounter: CreateCounter
  accountKey: (account: string) => string
  /** Failures per account, and per address; 0 sets no limit. */
  failuresPerMinute: number
  /** Attempts of one address that may wait for other attempts of that address to end. */
  waitingAttempts: number
}

/**
 * Runs an attempt unless too many have failed, and counts it when it fails. Throws `rate_limited`, and `overloaded` when too
 * many attempts of the address wait.
 */
export type LimitFailures = <Result>(
  client: LimitedClient,
  account: string,
  attempt: () => Promise<Result>,
) => Promise<Result>

/** The keys by which failures are counted. */
interface Keys {
  address: string
  account: string
  pair: string
}

const MINUTE = 60

/**
 * Limits failures by address and by account. Beyond its limit an account accepts one failure a minute from each address:
 * guesses from many addresses are slowed down, and the owner, at an address without a failure, gets in.
 */
export function createFailureLimiter(options: FailureLimiterOptions): LimitFailures {
  const {
    name,
    countedErrors,
    createCounter,
    accountKey,
    failuresPerMinute: limit,
    waitingAttempts,
  } = options
  if (limit === 0) return (_client, _account, attempt) => attempt()
  const addresses = createCounter(`${name}-address`, MINUTE)
  const accounts = createCounter(`${name}-account`, MINUTE)
  const pairs = createCounter(`${name}-pair`, MINUTE)
  const queueByAddress = createAttemptQueues(limit + waitingAttempts)
  const queueByPair = createAttemptQueues()

  /** The counts that refuse an attempt; none when it may begin. */
  async function findReached({ account, pair }: Keys, addressCount: Counted): Promise<Counted[]> {
    const reached = addressCount.count < limit ? [] : [addressCount]
    if ((await accounts.read(account)).count < limit) return reached
    const pairCount = await pairs.read(pair)
    return pairCount.count > 0 ? [...reached, pairCount] : reached
  }

  /** Counts a failure; returns those of the address. */
  async function count({ address, account, pair }: Keys): Promise<number> {
    const [addressCount] = await Promise.all([
      addresses.count(address),
      accounts.count(account),
      pairs.count(pair),
    ])
    return addressCount.count
  }

  return (client, accountName, attempt) => {
    const { address } = client
    const account = accountKey(accountName)
    const keys = { address, account, pair: pairKey(address, account) }
    return queueByAddress(address, async (allowAtOnce) => {
      const addressCount = await addresses.read(address)
      // No more run at once than may still fail: forty concurrent guesses gain nothing over forty sequential ones.
      allowAtOnce(limit - addressCount.count)
      // One attempt per address and account at a time: above the limit of the account each address can fail only once.
      return queueByPair(keys.pair, async () => {
        const reached = await findReached(keys, addressCount)
        if (reached.length > 0) throw tooManyRequests(lastToEnd(reached))
        try {
          return await attempt()
        } catch (error) {
          // It is counted before the attempt ends and the next one begins.
          if (error instanceof AppError && countedErrors.includes(error.code))
            allowAtOnce(limit - (await count(keys)))
          throw error
        }
      })
    })
  }
}

const lastToEnd = (counts: readonly Counted[]) => ({
  retryAfterSeconds: Math.max(...counts.map(({ retryAfterSeconds }) => retryAfterSeconds)),
})
