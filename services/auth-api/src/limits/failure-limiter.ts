import { AppError, type ErrorCode } from '@latchkey/shared/app-error.ts'
import { tooManyWaiting } from '@latchkey/shared/passwords/password-hasher.ts'
import type { FastifyRequest } from 'fastify'
import type { CreateCounter } from './counters.ts'
import { addressKey, pairKey } from './limit-keys.ts'
import { createPendingAttempts, type EarlierAttempts, type PendingAttempt } from './pending-attempts.ts'
import {
  createRecentFailures,
  type FailureKeys,
  isWithinLimit,
  type RecentFailures,
  secondsUntilAllowed,
} from './recent-failures.ts'
import { tooManyRequests } from './too-many-requests.ts'

export interface FailureLimiterOptions {
  /** Of the counters. */
  name: string
  /** What an attempt throws when it fails; other errors are not counted. */
  failures: readonly ErrorCode[]
  createCounter: CreateCounter
  accountKey: (account: string) => string
  /** Failures per account, and per address; 0 sets no limit. */
  failedLoginsPerMinute: number
  /** Attempts of one address that may wait for other attempts of that address to end. */
  waitingLogins: number
}

/**
 * Runs an attempt unless too many have failed, and counts it when it fails. `attempt` receives the earlier failures;
 * without a limit it receives undefined. Throws `rate_limited`, and `overloaded` when too many attempts of the address
 * wait.
 */
export type LimitFailures = <Result>(
  request: FastifyRequest,
  account: string,
  attempt: (failed: RecentFailures | undefined) => Promise<Result>,
) => Promise<Result>

const NO_EARLIER_ATTEMPTS: EarlierAttempts = new Map()

/** Limits failures by address and by account. Attempts that may still succeed wait for earlier ones. */
export function createFailureLimiter(options: FailureLimiterOptions): LimitFailures {
  const {
    name,
    failures: counted,
    createCounter,
    accountKey,
    failedLoginsPerMinute: limit,
    waitingLogins,
  } = options
  if (limit === 0) return (_request, _account, attempt) => attempt(undefined)
  const failures = createRecentFailures(name, createCounter)
  const pending = createPendingAttempts(limit)

  return async (request, account, attempt) => {
    const keys = failureKeys(addressKey(request), accountKey(account))
    const mayWait = pending.count(keys.address) < limit + waitingLogins
    const begun = pending.begin(Object.values(keys))
    try {
      return await attempt(await admit(keys, begun, mayWait))
    } catch (error) {
      if (error instanceof AppError && counted.includes(error.code)) await failures.count(keys)
      throw error
    } finally {
      begun.end()
    }
  }

  /** Resolves when the attempt may begin, with the failures that were counted until then. */
  async function admit(
    keys: FailureKeys,
    attempt: PendingAttempt,
    mayWait: boolean,
  ): Promise<RecentFailures> {
    for (;;) {
      // Read before the counters, so that an attempt that ends meanwhile is counted at least once.
      const earlier = attempt.earlier()
      const failed = await failures.read(keys)
      const mayBegin = (earlier: EarlierAttempts) => isWithinLimit(failed, keys, earlier, limit)
      if (mayBegin(earlier)) return failed
      if (!mayBegin(NO_EARLIER_ATTEMPTS)) throw tooManyRequests(secondsUntilAllowed(failed, limit))
      // In a longer queue every client would have given up before its password is hashed.
      if (!mayWait) throw tooManyWaiting()
      await attempt.until(mayBegin)
    }
  }
}

const failureKeys = (address: string, account: string): FailureKeys => ({
  address,
  account,
  pair: pairKey(address, account),
})
