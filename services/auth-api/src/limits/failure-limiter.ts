import { AppError, type ErrorCode } from '@latchkey/shared/app-error.ts'
import { createAttemptTurns, createMutexes } from './attempt-turns.ts'
import { type Counted, type CreateCounter, tooManyRequests } from './counters.ts'
import { addressKey, type LimitedRequest, pairKey } from './limit-keys.ts'

export interface FailureLimiterOptions {
  /** Prefix of the names of the counters. */
  name: string
  /** The errors that count as failures. */
  failures: readonly ErrorCode[]
  createCounter: CreateCounter
  accountKey: (account: string) => string
  /** Failures per account, and per address; 0 sets no limit. */
  failedLoginsPerMinute: number
  /** Attempts of one address that may wait for other attempts of that address to end. */
  waitingLogins: number
}

/**
 * Runs an attempt unless too many have failed, and counts it when it fails. Throws `rate_limited`, and `overloaded` when too
 * many attempts of the address wait.
 */
export type LimitFailures = <Result>(
  request: LimitedRequest,
  account: string,
  attempt: () => Promise<Result>,
) => Promise<Result>

const MINUTE = 60

/**
 * Limits failures by address and by account. Beyond its limit an account accepts one failure a minute from each address:
 * guesses from many addresses are slowed down, and the owner, at an address without a failure, gets in.
 */
export function createFailureLimiter(options: FailureLimiterOptions): LimitFailures {
  const { name, failures, createCounter, accountKey, failedLoginsPerMinute: limit, waitingLogins } = options
  if (limit === 0) return (_request, _account, attempt) => attempt()
  const addresses = createCounter(`${name}-address`, MINUTE)
  const accounts = createCounter(`${name}-account`, MINUTE)
  const pairs = createCounter(`${name}-pair`, MINUTE)
  const readFailures = (address: string) => addresses.read(address)
  const inTurn = createAttemptTurns({ limit, maxWaiting: waitingLogins, readFailures })
  const oneAtATime = createMutexes()

  return async (request, accountName, attempt) => {
    const address = addressKey(request)
    const account = accountKey(accountName)
    const pair = pairKey(address, account)

    /** Throws where the limit of the address or that of the account is reached, with the time when the last of both ends. */
    async function refuseLimited(ofAddress: Counted): Promise<void> {
      const limits = ofAddress.count < limit ? [] : [ofAddress]
      if ((await accounts.read(account)).count >= limit) {
        const ofPair = await pairs.read(pair)
        if (ofPair.count > 0) limits.push(ofPair)
      }
      if (limits.length === 0) return
      throw tooManyRequests({ retryAfterSeconds: Math.max(...limits.map((each) => each.retryAfterSeconds)) })
    }

    return inTurn(address, (ofAddress) =>
      // From many addresses at once, an account accepts fewer failures than twice its limit, and one from each address.
      oneAtATime(pair, async () => {
        await refuseLimited(ofAddress)
        try {
          return await attempt()
        } catch (error) {
          if (error instanceof AppError && failures.includes(error.code))
            await Promise.all([addresses.count(address), accounts.count(account), pairs.count(pair)])
          throw error
        }
      }),
    )
  }
}
