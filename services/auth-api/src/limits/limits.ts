import type { Config } from '../config.ts'
import { createCounterFactory, type LimitLogger } from './counters.ts'
import { createFactorLimiter, type LimitFactors } from './factor-limiter.ts'
import { createFailureLimiter, type LimitFailures } from './failure-limiter.ts'
import { createKnownAddresses, type KnownAddresses } from './known-addresses.ts'
import { createAccountKey } from './limit-keys.ts'
import type { LimitStore } from './limit-store.ts'
import { createLoginLimiter, type LimitLogin } from './login-limiter.ts'
import { createMailLimiter, type LimitMail } from './mail-limiter.ts'
import { createRequestLimiter, type LimitRequest } from './request-limiter.ts'

export interface LimitsDependencies {
  /** Keys the names of accounts; the same for all replicas. */
  secret: Uint8Array
  /** The Redis in which all replicas count together. Without it, each counts for itself. */
  limitStore: LimitStore | undefined
  logger: LimitLogger
}

/** Every limit of the API. */
export interface Limits {
  /** Returns the key of an account, which contains no name. */
  accountKey: (account: string) => string
  /** The addresses from which logins to an account have succeeded. */
  knownAddresses: KnownAddresses
  /** Limits all requests; undefined where they have no limit. */
  limitRequest: LimitRequest | undefined
  /** Limits refused logins and current passwords. */
  limitLogin: LimitLogin
  /** Limits refused second factors. */
  limitFactors: LimitFactors
  /** Limits the mails of password resets. */
  limitResets: LimitMail
  /** Limits the mails of logins by a mailed code. */
  limitLoginCodes: LimitMail
  /** Limits the mails of sign-ups. */
  limitSignUps: LimitMail
  /** Limits the mails that a user causes by changes of e-mail. */
  limitEmailChanges: LimitMail
  /** Limits the mails that an address receives by changes of e-mail. */
  limitEmailChangesTo: LimitMail
  /** Limits the mails that a user causes by changes of the username. */
  limitUsernameChanges: LimitMail
  /** Limits wrong codes of every kind: each is one of a million guesses, also where another client requested the code. */
  limitCodes: LimitFailures
  /** Limits guesses of e-mails and usernames that are taken. */
  limitTakenNames: LimitFailures
}

const REFUSED_CODES = [
  'reset_refused',
  'login_code_refused',
  'signup_refused',
  'email_change_refused',
  'exchange_refused',
] as const

const TAKEN_NAMES = ['email_taken', 'username_taken'] as const

/** Creates every limit of the API. */
export function createLimits(
  { limits }: Pick<Config, 'limits'>,
  { secret, limitStore, logger }: LimitsDependencies,
): Limits {
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
    limitLoginCodes: createMailLimiter({ ...options, name: 'login-code' }),
    limitSignUps: createMailLimiter({ ...options, name: 'sign-up' }),
    limitEmailChanges: createMailLimiter({ ...options, name: 'email-change' }),
    limitEmailChangesTo: createMailLimiter({ ...options, name: 'email-change-to' }),
    limitCodes: createFailureLimiter({ ...options, name: 'code', countedErrors: REFUSED_CODES }),
    limitUsernameChanges: createMailLimiter({ ...options, name: 'username-change' }),
    limitTakenNames: createFailureLimiter({ ...options, name: 'email', countedErrors: TAKEN_NAMES }),
  }
}
