import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { openCounters } from './counters.ts'
import { createFailureLimiter } from './failure-limiter.ts'
import { createKnownClients } from './known-clients.ts'
import { createAccountKey } from './limit-keys.ts'
import { createLoginLimiter } from './login-limiter.ts'
import { createRedisPause } from './redis-pause.ts'
import { createRequestCounter } from './request-counter.ts'
import { createResetLimiter } from './reset-limiter.ts'

export interface LimitsDependencies {
  /** Where all replicas count together; without it each counts for itself. */
  limitStore: Redis | undefined
  logger: Pick<Logger, 'info' | 'warn'>
}

export type Limits = ReturnType<typeof createLimits>

const MINUTE_MS = 60_000

/** Creates every limit of the API. */
export function createLimits({ limits, tokens }: Config, { limitStore, logger }: LimitsDependencies) {
  const unlessPaused = createRedisPause(logger)
  const createCounter = openCounters(limitStore, unlessPaused)
  const accountKey = createAccountKey(tokens.secret)
  const knownClients = createKnownClients(createCounter, accountKey)
  const options = { ...limits, createCounter, accountKey, knownClients }
  return {
    requestCounter: createRequestCounter({ windowMs: MINUTE_MS, redis: limitStore, unlessPaused }),
    accountKey,
    limitLogin: createLoginLimiter(options),
    limitResets: createResetLimiter({ ...options, name: 'reset' }),
    limitSignUps: createResetLimiter({ ...options, name: 'sign-up' }),
    limitEmailChanges: createResetLimiter({ ...options, name: 'email-change' }),
    limitEmailChangesTo: createResetLimiter({ ...options, name: 'email-change-to' }),
    limitTakenEmails: createFailureLimiter({ ...options, name: 'email', failures: ['email_taken'] }),
  }
}
