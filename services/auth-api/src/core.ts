import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { ConfiguredExtension } from '@latchkey/shared/extensions/configure-extensions.ts'
import {
  createDependencyFailures,
  type DependencyFailures,
} from '@latchkey/shared/health/dependency-failures.ts'
import { createMails, type Mails } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import type { MailDispatcher } from '@latchkey/shared/mail/outbox/dispatch-mail.ts'
import { createMailLink, type MailLink } from '@latchkey/shared/mail/outbox/mail-link.ts'
import { createNotices, type SendNotice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import { MAIL_TEMPLATES, type MailTemplates } from '@latchkey/shared/mail/outbox/mail-templates.ts'
import { createSealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import type { MailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import type { ClientTrust } from '@latchkey/shared/passwords/fair-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type Clock, type MonotonicClock, monotonicClock } from '@latchkey/shared/time/clock.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { FastifyPluginCallback } from 'fastify'
import type { Logger } from 'pino'
import { Registry } from 'prom-client'
import type { AuditTrail } from './audit/audit-trail.ts'
import type { RequestAudit } from './audit/request-audit.ts'
import type { Config } from './config.ts'
import {
  type AccountGuard,
  createAccountGuard,
  type UnguardedUsers,
} from './features/account/account-guard.ts'
import type { IdentityProvider } from './features/identity-providers/identity-provider.ts'
import {
  createNotifyFailure,
  FAILED_FACTORS,
  FAILED_LOGINS,
  type NotifyFailure,
} from './features/login/notify-failures.ts'
import { createNotifyNewClient, type NotifyNewClient } from './features/login/notify-new-client.ts'
import {
  type CodePurpose,
  type CodeSecrets,
  createAllCodeSecrets,
} from './features/one-time-codes/code-secrets.ts'
import { type Challenges, createChallenges } from './features/second-factor/challenges.ts'
import { createIssueLogin } from './features/sessions/issue-login.ts'
import { createFindRefreshForm, type FindRefreshForm } from './features/sessions/session-repository.ts'
import { createStoreSession } from './features/sessions/store-session.ts'
import { type AnswerLogin, createAnswerLogin } from './http/answer-login.ts'
import { type Client, type ClientRequest, createClients, type LoggedInClient } from './http/client.ts'
import { createRefreshCookies, type RefreshCookies } from './http/refresh-cookies.ts'
import type { LimitedClient } from './limits/limit-keys.ts'
import type { LimitStore } from './limits/limit-store.ts'
import { createLimits, type Limits } from './limits/limits.ts'
import type { Claims } from './tokens/claims.ts'
import { createDatabaseClock, type DatabaseClock } from './tokens/database-clock.ts'
import type { IssueLogin } from './tokens/issue-token.ts'
import { secretsOf } from './tokens/signing-keys.ts'
import { createTokens, type Tokens } from './tokens/tokens.ts'

/** The parts that the app is given. The caller has opened them, and closes them. */
export interface AppDependencies {
  db: Database
  passwords: PasswordHasher
  dispatcher: MailDispatcher
  queue: Pick<MailQueue, 'ping'>
  audit: Pick<AuditTrail, 'report' | 'write'>
  logger: Logger
  /** The extensions whose routes are added. Default: none. */
  extensions?: readonly ConfiguredExtension[]
  /** The identity providers, by their names. Default: none. */
  providers?: ReadonlyMap<string, IdentityProvider>
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

/** The parts that the use cases share. Each takes the `Pick` that it needs. */
export interface Core extends Tokens, Limits {
  /** The clock of this process. */
  localNow: Clock
  /** The clock of the database, for times that one replica stores and another one compares. */
  sharedNow: Clock
  /** The time since an arbitrary moment, for durations. */
  elapsed: MonotonicClock
  /** Sets `sharedNow` by the database. */
  synchroniseClock: DatabaseClock['synchronise']
  /** The log of the service. */
  logger: Logger
  /** The metrics of the service. */
  registry: Registry
  /** Collects the failures of dependencies, which readiness shows. */
  failures: DependencyFailures
  /** The database. */
  db: Database
  /** Runs work in a transaction of the database. */
  transaction: Database['transaction']
  /** The users, without the writes that only the account guard allows. */
  users: UnguardedUsers
  /** The same users, inside a transaction. */
  usersIn: (transaction: Queryable) => UnguardedUsers
  /** Hashes and verifies passwords. */
  passwords: PasswordHasher
  /** The codes and tokens of each purpose, and their hashes. */
  codeSecrets: Record<CodePurpose, CodeSecrets>
  /** Decides whether a user may change what guards the account. */
  guard: AccountGuard
  /** The challenges of second factors; undefined where SECOND_FACTOR is `off`. */
  challenges: Challenges | undefined
  /** Answers a login, by whatever the user has shown: a token, and a refresh token where the client has asked for a session that lasts. */
  issueLogin: IssueLogin
  /** Finds where the client of a session keeps its refresh token. */
  findRefreshForm: FindRefreshForm
  /** Returns the body of that answer, and sets its cookie. */
  answerLogin: AnswerLogin
  /** Reads and writes the cookie with a refresh token. */
  refreshCookies: RefreshCookies
  /** Mails a user about a login from a new client. */
  notifyNewClient: NotifyNewClient
  /** Mails a user about many refused logins. */
  notifyFailedLogin: NotifyFailure
  /** Mails a user about several second factors that were refused after the right password. */
  notifyFailedFactor: NotifyFailure
  /** Mails a user about a change of the account. */
  notify: SendNotice
  /** Accepts the mails of Latchkey's templates. */
  mails: Mails
  /** Returns the link of a mail. */
  mailLink: MailLink
  /** Creates what accepts the mails of other templates. */
  mailsOf: <Templates extends MailTemplates>(templates: Templates) => Mails<Templates>
  /** Returns the audit trail of one request. */
  auditOf: (request: Omit<ClientRequest, 'raw'>) => RequestAudit
  /** Returns the sender of a request. */
  clientOf: (request: ClientRequest) => Client
  /** Returns the sender of a request with a token. */
  loggedInClientOf: (request: ClientRequest & { jwt: Claims }) => LoggedInClient
  /** Hashes a new password of a client; `known` where it has shown a token or a code of the account. */
  hashFor: (client: LimitedClient, trust: ClientTrust) => (password: string) => Promise<string>
}

/** Builds the core from what the caller has opened. */
export async function createCore(config: Config, opened: AppDependencies): Promise<Core> {
  const { db, passwords, logger, dispatcher, limitStore } = opened
  const { localNow = Date.now, elapsed = monotonicClock, registry = new Registry() } = opened
  const { failures = createDependencyFailures(localNow) } = opened
  const { now: sharedNow, synchronise: synchroniseClock } = createDatabaseClock(localNow)
  const clocks = { localNow, sharedNow, elapsed }
  const transaction: Core['transaction'] = (work) => db.transaction(work)
  const usersIn: Core['usersIn'] = (queryable) => createUserRepository(queryable)
  const data = { db, transaction, users: usersIn(db), usersIn, passwords }
  const sealer = createSealer(config.mail.secret)
  const mailsOf: Core['mailsOf'] = (templates) => createMails({ templates, sealer, dispatcher, localNow })
  const mails = mailsOf(MAIL_TEMPLATES)
  const notify = createNotices(mails, localNow)
  const codeSecrets = createAllCodeSecrets(config)
  const mailLink = createMailLink(config.mail.linkUrl)
  const base = { ...clocks, ...data, logger, registry, failures, mails, mailLink, notify, codeSecrets }

  const storeSession = createStoreSession(base)
  const tokens = await createTokens(config.tokens, { ...base, storeSession })
  const issueLogin = createIssueLogin(config.tokens, { ...base, ...tokens })
  const refreshCookies = createRefreshCookies(config)
  const limits = createLimits(config, { secret: secretsOf(config.tokens)[0], limitStore, logger })
  const guard = createAccountGuard(config, { ...base, ...tokens, ...limits })
  const notifyNewClient = createNotifyNewClient(config.notices, base)
  const notifyFailedLogin = createNotifyFailure(FAILED_LOGINS, config.notices, base)
  const notifyFailedFactor = createNotifyFailure(FAILED_FACTORS, config.notices, base)
  const notices = { notifyNewClient, notifyFailedLogin, notifyFailedFactor }
  const { mode, secret, previousSecret } = config.secondFactor
  const challenges =
    mode === 'on' && secret ? createChallenges({ secret, previousSecret, guard, localNow }) : undefined
  const clients = createClients(opened.audit, passwords)
  return {
    ...base,
    ...tokens,
    ...limits,
    ...notices,
    ...clients,
    synchroniseClock,
    issueLogin,
    findRefreshForm: createFindRefreshForm(db),
    answerLogin: createAnswerLogin(refreshCookies),
    refreshCookies,
    guard,
    challenges,
    mailsOf,
  }
}
