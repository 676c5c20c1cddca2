import { type Clock, type MonotonicClock, monotonicClock } from '@latchkey/shared/clock.ts'
import { describeSharedAccounts } from '@latchkey/shared/database/adoption/describe-differences.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { createMigrator, type Migrator } from '@latchkey/shared/database/migrations.ts'
import type { ConfiguredExtension } from '@latchkey/shared/extensions/configure-extensions.ts'
import { createReadiness, type Readiness, rememberingSuccess } from '@latchkey/shared/health/readiness.ts'
import { createMails, type Mails } from '@latchkey/shared/mail-outbox/accept-mail.ts'
import type { MailDispatcher } from '@latchkey/shared/mail-outbox/dispatch-mail.ts'
import { MAIL_TEMPLATES, type MailTemplates } from '@latchkey/shared/mail-outbox/mail-templates.ts'
import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import type { MailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { DEMO_PASSWORD, DEMO_USERS, hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import {
  describePublishedPasswords,
  findPublishedPasswords,
} from '@latchkey/shared/users/published-password.ts'
import { ROLES } from '@latchkey/shared/users/roles.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { FastifyBaseLogger, FastifyInstance, FastifyPluginCallback, FastifyRequest } from 'fastify'
import { Registry } from 'prom-client'
import type { ReportEvent } from './account-events.ts'
import { createCodeSecrets } from './codes/code-secrets.ts'
import type { Config } from './config.ts'
import { createServer } from './create-server.ts'
import { addExtensionRoutes } from './extension-routes.ts'
import { createChangeRepository } from './features/change-email/change-repository.ts'
import { createConfirmChange } from './features/change-email/confirm-change.ts'
import { createGuardChange } from './features/change-email/guard-change.ts'
import {
  createMakeEmailChange,
  isSameMailbox,
  type MakeEmailChange,
} from './features/change-email/make-change.ts'
import { createRequestChange } from './features/change-email/request-change.ts'
import { changeEmailRoutes } from './features/change-email/routes.ts'
import { createChangePassword } from './features/change-password/change-password.ts'
import { changePasswordRoutes } from './features/change-password/routes.ts'
import { createPasswordClient, type PasswordClient } from './features/current-password/password-client.ts'
import { createDatabaseCheck } from './features/health/check-database.ts'
import { healthRoutes } from './features/health/routes.ts'
import { createLogOut } from './features/log-out/log-out.ts'
import { logOutRoutes } from './features/log-out/routes.ts'
import { createLogIn } from './features/login/log-in.ts'
import { loginRoutes } from './features/login/routes.ts'
import { createConfirmCode } from './features/password-reset/confirm-code.ts'
import { createRequestReset } from './features/password-reset/request-reset.ts'
import { createResetRepository } from './features/password-reset/reset-repository.ts'
import { passwordResetRoutes } from './features/password-reset/routes.ts'
import { createSetPassword } from './features/password-reset/set-password.ts'
import { createProfileRepository } from './features/profile/profile-repository.ts'
import { type ProfileUpdate, profileRoutes } from './features/profile/routes.ts'
import { createUpdateProfile } from './features/profile/update-profile.ts'
import { startPageRoutes } from './features/start-page/routes.ts'
import { type AuthenticateOptions, authenticate } from './features/tokens/authenticate.ts'
import type { Claims } from './features/tokens/claims.ts'
import { createEndSession } from './features/tokens/end-session.ts'
import { createTokenIssuer } from './features/tokens/issue-token.ts'
import { createRefreshToken } from './features/tokens/refresh-token.ts'
import { createRevocationRepository } from './features/tokens/revocation-repository.ts'
import { tokenRoutes } from './features/tokens/routes.ts'
import { importSigningKey } from './features/tokens/signing-key.ts'
import { createTokenValidity, requireValid } from './features/tokens/token-validity.ts'
import { createTokenVerifier } from './features/tokens/verify-token.ts'
import { ownRefusals } from './plugins/client-errors.ts'
import { crossOrigin } from './plugins/cross-origin.ts'
import { jsonBody } from './plugins/json-body.ts'
import { metrics } from './plugins/metrics.ts'
import { openapi } from './plugins/openapi/openapi.ts'
import { problemDetails } from './plugins/problem-details.ts'
import { type CreateCounter, type LimitStore, openCounters } from './plugins/rate-limit/counters.ts'
import { createFailureLimiter } from './plugins/rate-limit/failure-limiter.ts'
import { createKnownClients } from './plugins/rate-limit/known-clients.ts'
import { addressKey, createAccountKey } from './plugins/rate-limit/limit-keys.ts'
import { limitRequests } from './plugins/rate-limit/limit-requests.ts'
import { createLoginLimiter } from './plugins/rate-limit/login-limiter.ts'
import { createResetLimiter } from './plugins/rate-limit/reset-limiter.ts'
import { warnOfProxy } from './plugins/rate-limit/warn-of-proxy.ts'
import { responseHeaders } from './plugins/response-headers.ts'
import { trackRouteOwners } from './plugins/route-owners.ts'

export interface AppDependencies {
  db: Database
  passwords: PasswordHasher
  dispatcher: MailDispatcher
  queue: Pick<MailQueue, 'ping'>
  logger: FastifyBaseLogger
  /** Default: none. */
  extensions?: readonly ConfiguredExtension[]
  /** Where all replicas count limits together. */
  limitStore?: LimitStore | undefined
  /** Creates a span for each request; absent when traces are off. */
  traceRequests?: FastifyPluginCallback | undefined
  /** Called when the service must not run on this database. */
  refuse?: (reason: Error) => void
  clock?: Clock
  monotonic?: MonotonicClock
  registry?: Registry
}

export interface App {
  server: FastifyInstance
  readiness: Readiness
}

/** Joins the parts of auth-api. Opens and closes nothing: `parts.ts` does. */
export async function buildApp(config: Config, dependencies: AppDependencies): Promise<App> {
  const { db, passwords, logger, traceRequests, clock = Date.now, registry = new Registry() } = dependencies
  const { extensions = [] } = dependencies
  const users = createUserRepository(db)
  const report = buildReport(logger)
  const server = createServer({ trustedProxies: config.http.trustedProxies, logger })
  const owners = trackRouteOwners(server, 'Latchkey')
  const readiness = buildReadiness(config, dependencies, clock)
  const { issueToken, refreshToken, endSession, ...verification } = await buildTokens(
    config.tokens,
    dependencies,
    report,
  )
  const tokens = { ...verification, roles: [...ROLES, ...extensions.flatMap(({ roles }) => roles)] }
  const limits = await buildLimits(server, config, dependencies)
  const { createCounter, limitLogin, limitReset } = limits

  await addPlugins(server, config, { readiness, tokens, createCounter, registry, traceRequests })

  const { field } = config.login
  const logIn = createLogIn({
    users,
    replaceHash: replaceHashIn(db),
    passwords,
    reportUnusableHash: (userid, reason) =>
      logger.warn({ userid }, `no password matches the stored hash of a user: it ${reason}`),
    issueToken,
    clock,
    field,
  })
  const mails = buildMails(MAIL_TEMPLATES, config, dependencies, clock)
  const { requestReset, confirmCode, setPassword } = buildPasswordReset(
    config,
    { ...dependencies, mails },
    clock,
  )
  const transaction: Database['transaction'] = (work) => db.transaction(work)
  const passwordClientOf = (request: FastifyRequest): PasswordClient =>
    createPasswordClient({
      passwords,
      field,
      limit: (account, attempt) => limitLogin(request, account, attempt),
      address: addressKey(request),
    })
  const { updateProfile, confirmChange } = buildProfile(
    config,
    { ...dependencies, ...limits, mails, report, passwordClientOf },
    clock,
  )
  const changePassword = createChangePassword({
    db,
    usersOf: createUserRepository,
    endCodes,
    requireValid: requireValidAt(clock),
    validity: verification.validity,
    issueToken,
    policy: config.policy,
    report,
    clock,
  })

  await server.register(healthRoutes, { readiness })
  await server.register(loginRoutes, {
    logIn: (credentials, request) =>
      limitLogin(request, credentials.username, (client) => logIn(credentials, client)),
  })
  await server.register(tokenRoutes, { refreshToken })
  await server.register(logOutRoutes, {
    logOut: createLogOut({
      endSession,
      validity: verification.validity,
      transaction,
      usersOf: createUserRepository,
      report,
      clock,
    }),
  })
  const shownProperties = config.profile.properties
  await server.register(profileRoutes, {
    findProfile: (userid) => createProfileRepository(db).find(userid, new Date(clock())),
    shownProperties,
    updateProfile,
  })
  await server.register(changeEmailRoutes, { confirmChange, shownProperties })
  await server.register(changePasswordRoutes, {
    changePassword: (claims, change, request) => changePassword(claims, change, passwordClientOf(request)),
  })
  await server.register(passwordResetRoutes, {
    requestReset: async (email, request) => {
      await limitReset(request, email)
      return requestReset(email)
    },
    confirmCode,
    // The token of a confirmed reset came from the owner's mailbox.
    setPassword: (given, request) => setPassword(given, { address: addressKey(request), standing: 'known' }),
  })
  await server.register(startPageRoutes, {
    hasPage: hasDemoUsers(config.environment),
    environment: config.environment,
    inboxUrl: config.mail.inboxUrl,
    metricsPort: config.http.metricsPort,
    loginField: field,
  })
  const mailsOf = ({ mails }: ConfiguredExtension) => buildMails(mails, config, dependencies, clock)
  for (const extension of extensions)
    await addExtensionRoutes(server, owners, extension, { db, users, clock, mailsOf })
  return { server, readiness }
}

interface PluginParts extends Pick<AppDependencies, 'traceRequests'> {
  readiness: Readiness
  tokens: AuthenticateOptions
  createCounter: CreateCounter
  registry: Registry
}

/** Adds what every route needs, in the order in which a request passes it. */
async function addPlugins(
  server: FastifyInstance,
  config: Config,
  { readiness, tokens, createCounter, registry, traceRequests }: PluginParts,
): Promise<void> {
  // First, so that the work of the other plugins is inside the span.
  if (traceRequests) await server.register(traceRequests)
  await server.register(problemDetails)
  await server.register(responseHeaders, { isDraining: readiness.isDraining })
  await server.register(metrics, { registry })
  // Before anything that refuses a request: a page can read a refusal only with these headers.
  await server.register(crossOrigin, { origins: config.http.corsOrigins })
  await server.register(warnOfProxy)
  // Before the content-type gate: what that refuses counts as a request.
  await server.register(limitRequests, { createCounter, requestsPerMinute: config.limits.requestsPerMinute })
  await server.register(ownRefusals)
  await server.register(jsonBody)
  await server.register(authenticate, tokens)
  await server.register(openapi, { publicUrl: config.http.publicUrl, examples: demoExamples(config) })
}

/** Where there are demo users, the examples log one of them in. */
function demoExamples({ environment, login }: Config): Record<string, unknown> {
  const user = DEMO_USERS.find(({ role }) => role === 'user')
  return user && hasDemoUsers(environment)
    ? { login: { username: user[login.field], password: DEMO_PASSWORD } }
    : {}
}

function buildReadiness(config: Config, dependencies: AppDependencies, clock: Clock): Readiness {
  const { db, queue } = dependencies
  const migrator = createMigrator(db)
  return createReadiness(
    {
      database: createDatabaseCheck(db, {
        migrator,
        acceptSchema: () => refuseSharedAccounts(migrator, dependencies),
        acceptUsers: () => refuseDemoUsers(config, dependencies),
      }),
      // An address that has never answered may be wrong. Later, mail waits in the outbox while the queue is unavailable.
      queue: rememberingSuccess(async () => (await queue.ping()) ?? 'ok', Number.POSITIVE_INFINITY, clock),
    },
    clock,
  )
}

async function refuseSharedAccounts(migrator: Migrator, { refuse }: AppDependencies): Promise<void> {
  const shared = await migrator.findSharedAccounts()
  if (shared.length === 0) return
  const reason = new Error(describeSharedAccounts(shared))
  refuse?.(reason)
  throw reason
}

async function refuseDemoUsers(
  { environment }: Config,
  { db, passwords, refuse }: AppDependencies,
): Promise<void> {
  if (hasDemoUsers(environment)) return
  const accounts = await findPublishedPasswords({ users: createUserRepository(db), passwords })
  if (accounts.length === 0) return
  const reason = new Error(describePublishedPasswords(accounts, environment))
  refuse?.(reason)
  throw reason
}

const buildReport =
  (logger: FastifyBaseLogger): ReportEvent =>
  ({ name, ...event }) =>
    logger[name === 'token.reused' ? 'warn' : 'info'](event, name)

async function buildTokens(
  { secret, previousSecret, issuer, revocationCacheSeconds: cacheSeconds, ...tokens }: Config['tokens'],
  { db, clock = Date.now, monotonic = monotonicClock }: Pick<AppDependencies, 'db' | 'clock' | 'monotonic'>,
  report: ReportEvent,
) {
  const key = await importSigningKey(secret)
  const keys = previousSecret ? [key, await importSigningKey(previousSecret)] : [key]
  const revocations = createRevocationRepository(db)
  const issueToken = createTokenIssuer({ ...tokens, key, issuer })
  const endSession = createEndSession({ ...tokens, revocations, clock })
  const endReused = async (claims: Claims) => {
    await endSession(claims)
    report({ name: 'token.reused', userid: claims.sub })
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

async function buildLimits(
  server: FastifyInstance,
  { limits, tokens }: Config,
  { limitStore }: Pick<AppDependencies, 'limitStore'>,
) {
  const createCounter = await openCounters(server, limitStore)
  const accountKey = createAccountKey(tokens.secret)
  const knownClients = createKnownClients(createCounter, accountKey)
  const options = { ...limits, createCounter, accountKey, knownClients }
  return {
    createCounter,
    limitLogin: createLoginLimiter(options),
    limitReset: createResetLimiter({ ...options, name: 'reset' }),
    limitChanges: createResetLimiter({ ...options, name: 'email-change' }),
    limitChangesTo: createResetLimiter({ ...options, name: 'email-change-to' }),
    limitEmailChange: createFailureLimiter({ ...options, name: 'email', failures: ['email_taken'] }),
  }
}

const requireValidAt = (clock: Clock) => (db: Queryable, claims: Claims) =>
  requireValid(createRevocationRepository(db), claims, clock())

const replaceHashIn = (db: Database) => (userid: string, oldHash: string, newHash: string) =>
  db.transaction((transaction) => createUserRepository(transaction).replaceHash(userid, oldHash, newHash))

const buildMails = <Templates extends MailTemplates>(
  templates: Templates,
  { mail }: Config,
  { dispatcher }: AppDependencies,
  clock: Clock,
): Mails<Templates> => createMails({ templates, sealer: createSealer(mail.secret), dispatcher, clock })

interface ProfileParts extends AppDependencies, Awaited<ReturnType<typeof buildLimits>> {
  mails: Mails
  report: ReportEvent
  passwordClientOf: (request: FastifyRequest) => PasswordClient
}

function buildProfile({ tokens, reset, profile }: Config, parts: ProfileParts, clock: Clock) {
  const { db, mails, report, limitEmailChange, limitChanges, limitChangesTo, passwordClientOf } = parts
  const transaction: Database['transaction'] = (work) => db.transaction(work)
  const usersOf = createUserRepository
  const changesOf = createChangeRepository
  const secrets = createCodeSecrets('email', tokens.secret, tokens.previousSecret)
  const required = { requireValid: requireValidAt(clock), clock }
  const makeEmailChange = createMakeEmailChange({ usersOf, endCodes, mails, report, clock })
  const requestChange = createRequestChange({ ...reset, usersOf, changesOf, mails, secrets, report, clock })
  const isConfirmed = profile.emailChange === 'confirmed'
  const changeEmail: MakeEmailChange = (db, user, email, claims) =>
    isConfirmed && !isSameMailbox(user, email)
      ? requestChange(db, user, email)
      : makeEmailChange(db, user, email, claims)
  const profilesOf = createProfileRepository
  const updateProfile = createUpdateProfile({ ...required, transaction, usersOf, profilesOf, changeEmail })
  const guardChange = createGuardChange({ ...required, db, updateProfile })
  const { attempts } = reset
  const inTransaction = { transaction, usersOf, changesOf, makeEmailChange, secrets, attempts }
  return {
    confirmChange: createConfirmChange({ ...required, ...inTransaction, changes: changesOf(db) }),
    updateProfile: (request: FastifyRequest, { currentPassword, ...change }: ProfileUpdate) => {
      const client = {
        ...passwordClientOf(request),
        async limitMail({ userid }: User, email: string) {
          await limitChanges(request, userid)
          await limitChangesTo(request, email)
        },
      }
      if (isConfirmed) return guardChange(request.jwt, { currentPassword, ...change }, client)
      const update = () => updateProfile(request.jwt, change)
      return change.email === undefined ? update() : limitEmailChange(request, request.jwt.sub, update)
    },
  }
}

/** Ends every code that was mailed to a user. */
async function endCodes(transaction: Queryable, userid: string, now: Date): Promise<void> {
  await createResetRepository(transaction).endAll(userid, now)
  await createChangeRepository(transaction).endAll(userid, now)
}

function buildPasswordReset(
  { tokens, reset, policy }: Config,
  { db, passwords, mails }: AppDependencies & { mails: Mails },
  clock: Clock,
) {
  const users = createUserRepository(db)
  const resets = createResetRepository(db)
  const secrets = createCodeSecrets('reset', tokens.secret, tokens.previousSecret)
  const transaction: Database['transaction'] = (work) => db.transaction(work)
  const inTransaction = {
    transaction,
    resetsOf: createResetRepository,
    usersOf: createUserRepository,
    endCodes,
  }
  const { ttlSeconds, attempts } = reset
  return {
    requestReset: createRequestReset({ ...inTransaction, users, mails, secrets, ttlSeconds, clock }),
    confirmCode: createConfirmCode({ resets, secrets, attempts, clock }),
    setPassword: createSetPassword({
      ...inTransaction,
      users,
      resets,
      secrets,
      passwords,
      policy,
      attempts,
      clock,
    }),
  }
}
