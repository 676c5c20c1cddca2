import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { ConfiguredExtension } from '@latchkey/shared/extensions/configure-extensions.ts'
import {
  createDependencyFailures,
  type DependencyFailures,
} from '@latchkey/shared/health/dependency-failures.ts'
import { createMails } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import type { MailDispatcher } from '@latchkey/shared/mail/outbox/dispatch-mail.ts'
import { createNotices } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import { MAIL_TEMPLATES, type MailTemplates } from '@latchkey/shared/mail/outbox/mail-templates.ts'
import { createSealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import type { MailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type Clock, type MonotonicClock, monotonicClock } from '@latchkey/shared/time/clock.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { FastifyPluginCallback } from 'fastify'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { AuditTrail } from './audit/audit-trail.ts'
import {
  type AuditedRequest,
  createRequestAudit,
  describeAgent,
  type RequestAudit,
} from './audit/request-audit.ts'
import type { Config } from './config.ts'
import { createAccountGuard, type UnguardedUsers } from './features/account/account-guard.ts'
import {
  createNotifyFailure,
  FAILED_FACTORS,
  FAILED_LOGINS,
  type FailureKind,
  type NotifyFailure,
} from './features/login/notify-failures.ts'
import { createNotifyNewClient, type NotifyNewClient } from './features/login/notify-new-client.ts'
import { createAttemptCode } from './features/one-time-codes/attempt-code.ts'
import { type CodePurpose, createCodeSecrets } from './features/one-time-codes/code-secrets.ts'
import { createSecondFactor } from './features/second-factor/second-factor.ts'
import { createSessionRepository } from './features/sessions/session-repository.ts'
import { createStoreSession, type StoreSession } from './features/sessions/store-session.ts'
import type { Client, LoggedInClient } from './http/client.ts'
import { addressKey, type LimitedRequest } from './limits/limit-keys.ts'
import type { LimitStore } from './limits/limit-store.ts'
import { createLimits } from './limits/limits.ts'
import type { Claims } from './tokens/claims.ts'
import { createDatabaseClock } from './tokens/database-clock.ts'
import { type Secrets, secretsOf } from './tokens/signing-keys.ts'
import { createTokens } from './tokens/tokens.ts'

/** What the app is given. The caller has opened it, and closes it. */
export interface AppDependencies {
  db: Database
  passwords: PasswordHasher
  dispatcher: MailDispatcher
  queue: Pick<MailQueue, 'ping'>
  audit: Pick<AuditTrail, 'report' | 'write'>
  logger: Logger
  /** The extensions whose routes are added. Default: none. */
  extensions?: readonly ConfiguredExtension[]
  /** The Redis in which all replicas count limits together. */
  limitStore?: LimitStore | undefined
  /** Creates a span for each request; absent when traces are off. */
  traceRequests?: FastifyPluginCallback | undefined
  /** Called when the service must not run on this database. */
  refuse?: (reason: Error) => void
  /** Collects failures of dependencies; the caller may report its own too. Default: one for the requests only. */
  failures?: DependencyFailures
  localNow?: Clock
  elapsed?: MonotonicClock
  registry?: Registry
}

export type Core = Awaited<ReturnType<typeof createCore>>

/** Creates the dependencies that features share. Each feature passes on those that its use cases need. */
export async function createCore(config: Config, dependencies: AppDependencies) {
  const { db, passwords, logger, limitStore, audit, dispatcher } = dependencies
  const { localNow = Date.now, elapsed = monotonicClock, registry = new Registry() } = dependencies
  const { failures = createDependencyFailures(localNow) } = dependencies
  const databaseClock = createDatabaseClock(localNow)
  const sealer = createSealer(config.mail.secret)
  const createMailsOf = <Templates extends MailTemplates>(templates: Templates) =>
    createMails({ templates, sealer, dispatcher, clock: localNow })
  const mails = createMailsOf(MAIL_TEMPLATES)
  const secrets = secretsOf(config.tokens)
  const limits = createLimits(config, { secret: secrets[0], limitStore, logger })
  const transaction: Database['transaction'] = (work) => db.transaction(work)
  const auditOf = (request: AuditedRequest): RequestAudit =>
    createRequestAudit(audit, {
      address: addressKey(request),
      agent: describeAgent(request.headers['user-agent']),
      requestId: request.id,
    })
  const storeSession: StoreSession =
    config.sessions.mode === 'on'
      ? createStoreSession({ sessions: createSessionRepository(db), failures, logger })
      : async () => undefined
  const tokens = await createTokens(config.tokens, {
    db,
    localNow,
    sharedNow: databaseClock.now,
    elapsed,
    storeSession,
    registry,
    failures,
    logger,
  })
  const notify = createNotices(mails, localNow)
  const usersIn = (db: Queryable): UnguardedUsers => createUserRepository(db)
  const notifyNewClient: NotifyNewClient =
    config.notices.newClient === 'on'
      ? createNotifyNewClient({ transaction, usersIn, notify, logger, localNow })
      : async () => undefined
  const notifyFailureOf = (kind: FailureKind): NotifyFailure =>
    config.notices.failedLogins === 'on'
      ? createNotifyFailure(kind, { transaction, usersIn, notify, mails, logger, localNow })
      : () => undefined
  const { secret: factorSecret, previousSecret } = config.secondFactor
  // A challenge, which FACTOR_SECRET signs, needs no other secret.
  const guardSecrets: Secrets = factorSecret
    ? [factorSecret, ...(previousSecret ? [previousSecret] : [])]
    : secrets
  const guard = createAccountGuard({
    ...tokens,
    db,
    hasFactors: config.secondFactor.mode === 'on',
    passwords,
    limitLogin: limits.limitLogin,
    field: config.login.field,
    secrets: createCodeSecrets('guard', guardSecrets),
    localNow,
  })
  const secondFactor = createSecondFactor(config.secondFactor, {
    ...tokens,
    transaction,
    usersIn,
    guard,
    notify,
    notifyNewClient,
    notifyFailedFactor: notifyFailureOf(FAILED_FACTORS),
    limits,
    field: config.login.field,
    logger,
    registry,
    localNow,
  })
  const clientOf = (request: AuditedRequest & LimitedRequest): Client => ({
    request,
    audit: auditOf(request),
  })
  return {
    localNow,
    databaseClock,
    logger,
    registry,
    failures,
    db,
    transaction,
    users: usersIn(db),
    usersIn,
    passwords,
    tokens,
    /** Creates the tokens and codes of a purpose, and their hashes. */
    codeSecretsFor: (purpose: CodePurpose) => createCodeSecrets(purpose, secrets),
    guard,
    attemptCode: createAttemptCode(limits.limitCodes),
    /** Undefined where SECOND_FACTOR is `off`. */
    secondFactor,
    /** The problems of a route that may require a fresh second factor. */
    freshFactorProblems: secondFactor ? (['insufficient_user_authentication'] as const) : [],
    limits,
    notifyNewClient,
    notifyFailedLogin: notifyFailureOf(FAILED_LOGINS),
    createMailsOf,
    mails,
    notify,
    /** Returns the audit trail of one request. */
    auditOf,
    /** Returns the sender of a request. */
    clientOf,
    /** Returns the sender of a request with a token. */
    loggedInClientOf: (request: AuditedRequest & LimitedRequest & { jwt: Claims }): LoggedInClient => ({
      ...clientOf(request),
      claims: request.jwt,
    }),
  }
}
