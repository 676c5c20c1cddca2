import { AppError } from '@latchkey/shared/app-error.ts'
import type { HashClient, Standing } from '@latchkey/shared/passwords/fair-queue.ts'
import { tooManyWaiting } from '@latchkey/shared/passwords/password-hasher.ts'
import type { FastifyRequest } from 'fastify'
import type { CreateCounter } from './counters.ts'
import { addressKey } from './limit-keys.ts'
import {
  createLoginFailures,
  isWithinLimit,
  type LoginFailures,
  type LoginKeys,
  secondsUntilAllowed,
} from './login-failures.ts'
import { createPendingAttempts, type EarlierAttempts, type PendingAttempt } from './pending-attempts.ts'
import { tooManyRequests } from './too-many-requests.ts'

export interface LoginLimiterOptions {
  createCounter: CreateCounter
  accountKey: (account: string) => string
  /** Failed logins per account, and per address; 0 sets no limit. */
  failedLoginsPerMinute: number
  /** Logins of one address that may wait for other logins of that address to end. */
  waitingLogins: number
}

/**
 * Runs a login unless too many have failed, and counts it when it fails with `invalid_credentials`. Throws
 * `rate_limited`, and `overloaded` when too many logins of the address wait.
 */
export type LimitLogin = <Result>(
  request: FastifyRequest,
  account: string,
  logIn: (client: HashClient) => Promise<Result>,
) => Promise<Result>

/** How long a client stays known for an account after it has logged in. */
const SUCCESS_MS = 30 * 24 * 60 * 60 * 1000

const NO_EARLIER_ATTEMPTS: EarlierAttempts = new Map()

/** Limits failed logins by address and by account. Logins that may still turn out well wait for earlier ones. */
export function createLoginLimiter(options: LoginLimiterOptions): LimitLogin {
  const { createCounter, accountKey, failedLoginsPerMinute: limit, waitingLogins } = options
  if (limit === 0)
    return (request, _account, logIn) => logIn({ address: addressKey(request), standing: 'new' })
  const failures = createLoginFailures(createCounter)
  const successes = createCounter('login-success', SUCCESS_MS)
  const pending = createPendingAttempts(limit)

  return async (request, account, logIn) => {
    const keys = loginKeys(addressKey(request), accountKey(account))
    const mayWait = pending.count(keys.address) < limit + waitingLogins
    const attempt = pending.begin(Object.values(keys))
    try {
      const failed = await admit(request, keys, attempt, mayWait)
      const result = await logIn({ address: keys.address, standing: await standingOf(request, keys, failed) })
      await successes.count(request, keys.pair)
      return result
    } catch (error) {
      if (isFailedLogin(error)) await failures.count(request, keys)
      throw error
    } finally {
      attempt.end()
    }
  }

  async function standingOf(
    request: FastifyRequest,
    { pair }: LoginKeys,
    failed: LoginFailures,
  ): Promise<Standing> {
    if (failed.address.current > 0) return 'failed'
    return (await successes.read(request, pair)).current > 0 ? 'known' : 'new'
  }

  /** Resolves when the login may begin, with the failures that were counted until then. */
  async function admit(
    request: FastifyRequest,
    keys: LoginKeys,
    attempt: PendingAttempt,
    mayWait: boolean,
  ): Promise<LoginFailures> {
    for (;;) {
      // Read before the counters, so that an attempt that ends meanwhile is counted at least once.
      const earlier = attempt.earlier()
      const failed = await failures.read(request, keys)
      const mayBegin = (earlier: EarlierAttempts) => isWithinLimit(failed, keys, earlier, limit)
      if (mayBegin(earlier)) return failed
      if (!mayBegin(NO_EARLIER_ATTEMPTS)) throw tooManyRequests(secondsUntilAllowed(failed, limit))
      // In a longer queue every client would have given up before its password is hashed.
      if (!mayWait) throw tooManyWaiting()
      await attempt.until(mayBegin)
    }
  }
}

const loginKeys = (address: string, account: string): LoginKeys => ({
  address,
  account,
  pair: `${address} ${account}`,
})

const isFailedLogin = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'invalid_credentials'
