import { type Clock, type MonotonicClock, monotonicClock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { ConfiguredExtension } from '@latchkey/shared/extensions/configure-extensions.ts'
import { createFailures, type Failures } from '@latchkey/shared/health/failures.ts'
import { createMails, type Mails } from '@latchkey/shared/mail-outbox/accept-mail.ts'
import type { MailDispatcher } from '@latchkey/shared/mail-outbox/dispatch-mail.ts'
import { createNotices } from '@latchkey/shared/mail-outbox/mail-notices.ts'
import { MAIL_TEMPLATES, type MailTemplates } from '@latchkey/shared/mail-outbox/mail-templates.ts'
import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import type { MailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { FastifyBaseLogger, FastifyInstance, FastifyPluginCallback, FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import { Registry } from 'prom-client'
import { createAppReadiness } from './app-readiness.ts'
import type { AuditTrail } from './audit/audit-trail.ts'
import { createRequestAudit, type RequestAudit } from './audit/request-audit.ts'
import type { Config } from './config.ts'
import { createServer } from './create-server.ts'
import { createPasswordClient, type PasswordClient } from './features/change-password/password-client.ts'
import { createRefreshToken } from './features/refresh-token/refresh-token.ts'
import { openCounters } from './limits/counters.ts'
import { createFailureLimiter } from './limits/failure-limiter.ts'
import { createKnownClients } from './limits/known-clients.ts'
import { addressKey, createAccountKey } from './limits/limit-keys.ts'
import { createLoginLimiter } from './limits/login-limiter.ts'
import { createRedisPause } from './limits/redis-pause.ts'
import { createRequestCounter } from './limits/request-counter.ts'
import { createResetLimiter } from './limits/reset-limiter.ts'
import { createActionCounters } from './service-metrics.ts'
import type { Caller, Claims } from './tokens/claims.ts'
import { createEndSession } from './tokens/end-session.ts'
import { createTokenIssuer, importSigningKey } from './tokens/issue-token.ts'
import { createRevocationRepository } from './tokens/revocation-repository.ts'
import { createTokenValidity, requireValid } from './tokens/token-validity.ts'
import { createTokenVerifier } from './tokens/verify-token.ts'

const MINUTE_MS = 60_000

export interface AppDependencies {
  db: Database
  passwords: PasswordHasher
  dispatcher: MailDispatcher
  queue: Pick<MailQueue, 'ping'>
  audit: Pick<AuditTrail, 'report' | 'write'>
  logger: FastifyBaseLogger
  /** Default: none. */
  extensions?: readonly ConfiguredExtension[]
  /** Where all replicas count limits together. */
  limitStore?: Redis | undefined
  /** Creates a span for each request; absent when traces are off. */
  traceRequests?: FastifyPluginCallback | undefined
  /** Called when the service must not run on this database. */
  refuse?: (reason: Error) => void
  /** Where the caller reports the failures of what it gave. Default: of the requests alone. */
  failures?: Failures
  clock?: Clock
  monotonic?: MonotonicClock
  registry?: Registry
}

/** What the features share. */
export async function buildParts(config: Config, dependencies: AppDependencies) {
  const { db, passwords, logger, audit, clock = Date.now, registry = new Registry() } = dependencies
  const { failures = createFailures(clock) } = dependencies
  const server = createServer({ trustedProxies: config.http.trustedProxies, logger })
  const limits = buildLimits(server, config, dependencies)
  const mails = buildMails(MAIL_TEMPLATES, config, { ...dependencies, clock })
  const auditOf = (request: FastifyRequest): RequestAudit => createRequestAudit(audit, request)
  const callerOf = (request: FastifyRequest): Caller => ({ claims: request.jwt, audit: auditOf(request) })
  const passwordClientOf = (request: FastifyRequest): PasswordClient =>
    createPasswordClient({
      passwords,
      field: config.login.field,
      limit: (account, attempt) => limits.limitLogin(request, account, attempt),
      address: addressKey(request),
      audit: auditOf(request),
    })
  const transaction: Database['transaction'] = (work) => db.transaction(work)
  return {
    ...dependencies,
    ...limits,
    clock,
    registry,
    failures,
    server,
    auditOf,
    callerOf,
    ...createActionCounters(registry),
    transaction,
    passwordClientOf,
    users: createUserRepository(db),
    readiness: createAppReadiness(config, { ...dependencies, failures, clock }),
    tokens: await buildTokens(config.tokens, { ...dependencies, clock }),
    mails,
    notify: createNotices(mails, clock),
    requireValid: requireValidAt(clock),
  }
}

export type Parts = Awaited<ReturnType<typeof buildParts>>

async function buildTokens(
  { secret, previousSecret, issuer, revocationCacheSeconds: cacheSeconds, ...tokens }: Config['tokens'],
  { db, clock, monotonic = monotonicClock }: Pick<AppDependencies, 'db' | 'monotonic'> & { clock: Clock },
) {
  const key = await importSigningKey(secret)
  const keys = previousSecret ? [key, await importSigningKey(previousSecret)] : [key]
  const revocations = createRevocationRepository(db)
  const issueToken = createTokenIssuer({ ...tokens, key, issuer })
  const endSession = createEndSession({ ...tokens, revocations, clock })
  const endReused = async ({ claims, audit }: Caller) => {
    await endSession(claims)
    audit.report({ name: 'token.reused', userid: claims.sub })
  }
  const validity = createTokenValidity({ revocations, endReused, cacheSeconds, clock, monotonic })
  return {
    issueToken,
    verifier: createTokenVerifier({ keys, issuer, clock }),
    validity,
    endSession,
    refreshToken: createRefreshToken({ ...tokens, revocations, endReused, validity, issueToken, clock }),
  }
}

function buildLimits(
  server: FastifyInstance,
  { limits, tokens }: Config,
  { limitStore }: Pick<AppDependencies, 'limitStore'>,
) {
  const unlessPaused = createRedisPause(server.log)
  const createCounter = openCounters(limitStore, unlessPaused)
  const accountKey = createAccountKey(tokens.secret)
  const knownClients = createKnownClients(createCounter, accountKey)
  const options = { ...limits, createCounter, accountKey, knownClients }
  return {
    requestCounter: createRequestCounter({ windowMs: MINUTE_MS, redis: limitStore, unlessPaused }),
    accountKey,
    limitLogin: createLoginLimiter(options),
    limitReset: createResetLimiter({ ...options, name: 'reset' }),
    limitSignUps: createResetLimiter({ ...options, name: 'sign-up' }),
    limitChanges: createResetLimiter({ ...options, name: 'email-change' }),
    limitChangesTo: createResetLimiter({ ...options, name: 'email-change-to' }),
    limitEmailChange: createFailureLimiter({ ...options, name: 'email', failures: ['email_taken'] }),
  }
}

export const buildMails = <Templates extends MailTemplates>(
  templates: Templates,
  { mail }: Config,
  { dispatcher, clock }: Pick<AppDependencies, 'dispatcher'> & { clock: Clock },
): Mails<Templates> => createMails({ templates, sealer: createSealer(mail.secret), dispatcher, clock })

const requireValidAt = (clock: Clock) => (db: Queryable, claims: Claims) =>
  requireValid(createRevocationRepository(db), claims, clock())
