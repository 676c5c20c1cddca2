import type { Config } from '../config.ts'
import { createCounterFactory, type LimitLogger } from './counters.ts'
import { createFactorLimiter } from './factor-limiter.ts'
import { createFailureLimiter } from './failure-limiter.ts'
import { createKnownAddresses } from './known-addresses.ts'
import { createAccountKey } from './limit-keys.ts'
import type { LimitStore } from './limit-store.ts'
import { createLoginLimiter } from './login-limiter.ts'
import { createMailLimiter } from './mail-limiter.ts'
import { createRequestLimiter } from './request-limiter.ts'

export interface LimitsDependencies {
  /** Keys the names of accounts; the same for all replicas. */
  secret: Uint8Array
  /** The Redis in which all replicas count together. Without it, each counts for itself. */
  limitStore: LimitStore | undefined
  logger: LimitLogger
}

export type Limits = ReturnType<typeof createLimits>

const REFUSED_CODES = ['reset_refused', 'signup_refused', 'email_change_refused'] as const

/** Creates every limit of the API. */
export function createLimits(
  { limits }: Pick<Config, 'limits'>,
  { secret, limitStore, logger }: LimitsDependencies,
) {
  const { requestsPerMinute } = limits
  const createCounter = createCounterFactory(limitStore, logger)
  const accountKey = createAccountKey(secret)
  const knownAddresses = createKnownAddresses(limitStore, accountKey)
  const options = { ...limits, createCounter, accountKey, knownAddresses }
  return {
    accountKey,
    knownAddresses,
    limitRequest: requestsPerMinute === 0 ? undefined : createRequestLimiter(limitStore, requestsPerMinute),
    limitLogin: createLoginLimiter(options),
    limitFactors: createFactorLimiter(options),
    limitResets: createMailLimiter({ ...options, name: 'reset' }),
    limitSignUps: createMailLimiter({ ...options, name: 'sign-up' }),
    limitEmailChanges: createMailLimiter({ ...options, name: 'email-change' }),
    limitEmailChangesTo: createMailLimiter({ ...options, name: 'email-change-to' }),
    /** Wrong codes of every kind: each is one of a million guesses, also where another client requested the code. */
    limitCodes: createFailureLimiter({ ...options, name: 'code', countedErrors: REFUSED_CODES }),
    limitTakenEmails: createFailureLimiter({ ...options, name: 'email', countedErrors: ['email_taken'] }),
  }
}
