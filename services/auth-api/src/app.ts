import { type Clock, type MonotonicClock, monotonicClock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { ConfiguredExtension } from '@latchkey/shared/extensions/configure-extensions.ts'
import { declaredRoles } from '@latchkey/shared/extensions/declared-roles.ts'
import { createFailures, type Failures } from '@latchkey/shared/health/failures.ts'
import type { Readiness } from '@latchkey/shared/health/readiness.ts'
import { createMails, type Mails } from '@latchkey/shared/mail-outbox/accept-mail.ts'
import type { MailDispatcher } from '@latchkey/shared/mail-outbox/dispatch-mail.ts'
import { createNotices } from '@latchkey/shared/mail-outbox/mail-notices.ts'
import { MAIL_TEMPLATES, type MailTemplates } from '@latchkey/shared/mail-outbox/mail-templates.ts'
import { registerOutboxAge } from '@latchkey/shared/mail-outbox/outbox-age.ts'
import { createOutboxRepository } from '@latchkey/shared/mail-outbox/outbox-repository.ts'
import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import type { MailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { DEMO_PASSWORD, DEMO_USERS, hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { FastifyBaseLogger, FastifyInstance, FastifyPluginCallback, FastifyRequest } from 'fastify'
import type { Redis } from 'ioredis'
import { Registry } from 'prom-client'
import { createAppReadiness } from './app-readiness.ts'
import type { AuditTrail } from './audit/audit-trail.ts'
import { createFailedLogins } from './audit/failed-logins.ts'
import { reportRefusal } from './audit/report-refusal.ts'
import { createRequestAudit, type RequestAudit, type RequestEvent } from './audit/request-audit.ts'
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
import { createConfirmSignUp } from './features/sign-up/confirm-sign-up.ts'
import { createRequestSignUp } from './features/sign-up/request-sign-up.ts'
import { signUpRoutes } from './features/sign-up/routes.ts'
import { createSignUpRepository } from './features/sign-up/sign-up-repository.ts'
import { startPageRoutes } from './features/start-page/routes.ts'
import { type AuthenticateOptions, authenticate } from './features/tokens/authenticate.ts'
import type { Caller } from './features/tokens/caller.ts'
import type { Claims } from './features/tokens/claims.ts'
import { createEndSession } from './features/tokens/end-session.ts'
import { createTokenIssuer } from './features/tokens/issue-token.ts'
import { createRefreshToken } from './features/tokens/refresh-token.ts'
import { createRevocationRepository } from './features/tokens/revocation-repository.ts'
import { tokenRoutes } from './features/tokens/routes.ts'
import { importSigningKey } from './features/tokens/signing-key.ts'
import { createStandingReader } from './features/tokens/standing-reader.ts'
import { createTokenValidity, requireValid } from './features/tokens/token-validity.ts'
import { createTokenVerifier } from './features/tokens/verify-token.ts'
import { ownRefusals } from './plugins/client-errors.ts'
import { crossOrigin } from './plugins/cross-origin.ts'
import { jsonBody } from './plugins/json-body.ts'
import { metrics } from './plugins/metrics.ts'
import { openapi } from './plugins/openapi/openapi.ts'
import { problemDetails } from './plugins/problem-details.ts'
import { openCounters } from './plugins/rate-limit/counters.ts'
import { createFailureLimiter } from './plugins/rate-limit/failure-limiter.ts'
import { createKnownClients } from './plugins/rate-limit/known-clients.ts'
import { addressKey, createAccountKey } from './plugins/rate-limit/limit-keys.ts'
import { limitRequests } from './plugins/rate-limit/limit-requests.ts'
import { createLoginLimiter } from './plugins/rate-limit/login-limiter.ts'
import { createRedisPause } from './plugins/rate-limit/redis-pause.ts'
import { createRequestCounter, type RequestCounter } from './plugins/rate-limit/request-counter.ts'
import { createResetLimiter } from './plugins/rate-limit/reset-limiter.ts'
import { warnOfProxy } from './plugins/rate-limit/warn-of-proxy.ts'
import { responseHeaders } from './plugins/response-headers.ts'
import { trackRouteOwners } from './plugins/route-owners.ts'
import { createActionCounters, registerServiceGauges } from './service-metrics.ts'

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

export interface App {
  server: FastifyInstance
  readiness: Readiness
}

/** Joins the parts of auth-api. Opens and closes nothing: `parts.ts` does. */
export async function buildApp(config: Config, dependencies: AppDependencies): Promise<App> {
  const { extensions = [] } = dependencies
  const parts = await buildParts(config, dependencies)
  const { db, server, readiness, tokens, users, clock, auditOf } = parts
  registerMetrics(config, parts)
  const owners = trackRouteOwners(server, 'Latchkey')
  const roles = declaredRoles(extensions)
  const { verifier, validity } = tokens
  await addPlugins(server, config, { ...parts, tokens: { verifier, validity, auditOf, roles } })
  await addRoutes(config, parts)
  const mailsOf = ({ mails }: ConfiguredExtension) => buildMails(mails, config, parts)
  for (const extension of extensions)
    await addExtensionRoutes(server, owners, extension, { db, users, clock, mailsOf })
  return { server, readiness }
}

type Parts = Awaited<ReturnType<typeof buildParts>>

function registerMetrics({ database }: Config, { registry, db, passwords, tokens, clock }: Parts): void {
  registerServiceGauges(registry, {
    tokenChecks: () => tokens.validity.checks(),
    hashes: () => passwords.usage(),
    connections: () => db.usage(),
    maxConnections: database.poolSize,
  })
  registerOutboxAge(registry, { outbox: createOutboxRepository(db), clock })
}

/** What the features share. */
async function buildParts(config: Config, dependencies: AppDependencies) {
  const { db, passwords, logger, audit, clock = Date.now, registry = new Registry() } = dependencies
  const { failures = createFailures(clock) } = dependencies
  const server = createServer({ trustedProxies: config.http.trustedProxies, logger })
  const limits = await buildLimits(server, config, dependencies)
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
    readiness: createAppReadiness(config, { ...dependencies, failures, registry, clock }),
    tokens: await buildTokens(config.tokens, { ...dependencies, clock }),
    mails,
    notify: createNotices(mails, clock),
    requireValid: requireValidAt(clock),
  }
}

async function addRoutes(config: Config, parts: Parts): Promise<void> {
  const { server, readiness } = parts
  await server.register(healthRoutes, { readiness })
  await addTokenRoutes(config, parts)
  await addProfileRoutes(config, parts)
  await addPasswordRoutes(config, parts)
  if (config.signUp.isOpen === 'on') await addSignUpRoutes(config, parts)
  await server.register(startPageRoutes, {
    hasPage: hasDemoUsers(config.environment),
    environment: config.environment,
    inboxUrl: config.mail.inboxUrl,
    metricsPort: config.http.metricsPort,
    loginField: config.login.field,
  })
}

/** Login, refresh and logout. */
async function addTokenRoutes(config: Config, parts: Parts): Promise<void> {
  const { db, users, passwords, logger, server, clock } = parts
  const { limitLogin, countLogin, callerOf } = parts
  const { issueToken, refreshToken, endSession, validity } = parts.tokens
  const logIn = createLogIn({
    users,
    replaceHash: replaceHashIn(db),
    passwords,
    reportUnusableHash: (userid, reason) =>
      logger.warn({ userid }, `no password matches the stored hash of a user: it ${reason}`),
    issueToken,
    clock,
    field: config.login.field,
  })
  const loginAuditOf = buildLoginAudit(config, parts)
  await server.register(loginRoutes, {
    logIn: (credentials, request) =>
      countLogin(
        limitLogin(request, credentials.username, (client) =>
          logIn(credentials, client, loginAuditOf(request, credentials.username)),
        ),
      ),
  })
  await server.register(tokenRoutes, { refreshToken: (request) => refreshToken(callerOf(request)) })
  const usersOf = createUserRepository
  const logOut = createLogOut({ ...parts, usersOf, endSession, validity })
  await server.register(logOutRoutes, { logOut: (request, options) => logOut(callerOf(request), options) })
}

/** The audit trail of a login, which also tells a user about many refused ones. */
function buildLoginAudit({ notices }: Config, parts: Parts) {
  const { auditOf, accountKey } = parts
  const isOn = notices.failedLogins === 'on'
  const countFailed = createFailedLogins({ ...parts, usersOf: createUserRepository })
  return (request: FastifyRequest, username: string): Pick<RequestAudit, 'report'> => {
    const audit = auditOf(request)
    return {
      report(event) {
        audit.report(event)
        if (isOn && event.name === 'login.refused')
          countFailed({ account: accountKey(username), userid: event.userid, address: audit.address })
      },
    }
  }
}

/** The profile, and the confirmation of a new e-mail. */
async function addProfileRoutes(config: Config, parts: Parts): Promise<void> {
  const { db, server, clock, callerOf } = parts
  const { updateProfile, confirmChange } = buildProfile(config, parts)
  const shownProperties = config.profile.properties
  await server.register(profileRoutes, {
    findProfile: (userid) => createProfileRepository(db).find(userid, new Date(clock())),
    shownProperties,
    updateProfile,
  })
  await server.register(changeEmailRoutes, {
    confirmChange: (request, code) => {
      const caller = callerOf(request)
      const event = { name: 'email.change_refused', userid: caller.claims.sub } as const
      return reportRefusal(caller.audit, { code: 'email_change_refused', ...event }, () =>
        confirmChange(caller, code),
      )
    },
    shownProperties,
  })
}

/** The change of a password by its owner, and its reset by e-mail. */
async function addPasswordRoutes(config: Config, parts: Parts): Promise<void> {
  const { server, tokens, limitReset, countReset, passwordClientOf, auditOf, callerOf } = parts
  const changePassword = createChangePassword({
    ...parts,
    usersOf: createUserRepository,
    endCodes,
    validity: tokens.validity,
    issueToken: tokens.issueToken,
    policy: config.policy,
  })
  const { requestReset, confirmCode, setPassword } = buildPasswordReset(config, parts)
  const refusingReset = <Result>(request: FastifyRequest, reason: string, work: () => Promise<Result>) =>
    reportRefusal(auditOf(request), { code: 'reset_refused', name: 'reset.refused', reason }, work)
  await server.register(changePasswordRoutes, {
    changePassword: (request, change) => changePassword(callerOf(request), change, passwordClientOf(request)),
  })
  await server.register(passwordResetRoutes, {
    requestReset: (email, request) =>
      countReset('requested')(limitReset(request, email).then(() => requestReset(email, auditOf(request)))),
    confirmCode: (given, request) =>
      countReset('confirmed')(refusingReset(request, 'code', () => confirmCode(given, auditOf(request)))),
    // The token of a confirmed reset came from the owner's mailbox.
    setPassword: (given, request) =>
      countReset('completed')(
        refusingReset(request, 'token', () =>
          setPassword(given, { address: addressKey(request), standing: 'known' }, auditOf(request)),
        ),
      ),
  })
}

async function addSignUpRoutes({ tokens, reset, policy, signUp }: Config, parts: Parts): Promise<void> {
  const { server, db, clock, limitSignUps, auditOf } = parts
  const { issueToken } = parts.tokens
  const usersOf = createUserRepository
  const signUpsOf = createSignUpRepository
  const secrets = createCodeSecrets('signup', tokens.secret, tokens.previousSecret)
  const { domains } = signUp
  const requestSignUp = createRequestSignUp({
    ...parts,
    ...reset,
    usersOf,
    signUpsOf,
    secrets,
    policy,
    domains,
  })
  const signUps = signUpsOf(db)
  const required = { ...parts, ...reset, usersOf, signUps, signUpsOf, secrets, issueToken, clock }
  const confirmSignUp = createConfirmSignUp(required)
  await server.register(signUpRoutes, {
    requestSignUp(given, request) {
      const limit = (email: string) => limitSignUps(request, email)
      const client = { address: addressKey(request), standing: 'new', limit } as const
      return requestSignUp(given, client, auditOf(request))
    },
    confirmSignUp: (given, request) =>
      reportRefusal(auditOf(request), { code: 'signup_refused', name: 'signup.refused' }, () =>
        confirmSignUp(given, auditOf(request)),
      ),
  })
}

interface PluginParts extends Pick<AppDependencies, 'traceRequests'> {
  readiness: Readiness
  tokens: AuthenticateOptions
  requestCounter: RequestCounter
  registry: Registry
  failures: Failures
}

/** Adds what every route needs, in the order in which a request passes it. */
async function addPlugins(
  server: FastifyInstance,
  config: Config,
  { readiness, tokens, requestCounter, registry, failures, traceRequests }: PluginParts,
): Promise<void> {
  // First, so that the work of the other plugins is inside the span.
  if (traceRequests) await server.register(traceRequests)
  await server.register(problemDetails, {
    onLimit: (request) => tokens.auditOf(request).report(limitReached(request)),
    onUnavailable: failures.report,
  })
  await server.register(responseHeaders, { isDraining: readiness.isDraining })
  await server.register(metrics, { registry })
  // Before anything that refuses a request: a page can read a refusal only with these headers.
  await server.register(crossOrigin, { origins: config.http.corsOrigins })
  await server.register(warnOfProxy)
  // Before the content-type gate: what that refuses counts as a request.
  const { requestsPerMinute } = config.limits
  await server.register(limitRequests, { counter: requestCounter, requestsPerMinute })
  await server.register(ownRefusals)
  await server.register(jsonBody)
  await server.register(authenticate, tokens)
  await server.register(openapi, { publicUrl: config.http.publicUrl, examples: demoExamples(config) })
}

const limitReached = ({ method, routeOptions, jwt }: FastifyRequest): RequestEvent => ({
  name: 'limit.reached',
  userid: jwt?.sub,
  reason: `${method} ${routeOptions.url ?? 'unmatched'}`,
})

/** Where there are demo users, the examples log one of them in. */
function demoExamples({ environment, login }: Config): Record<string, unknown> {
  const user = DEMO_USERS.find(({ role }) => role === 'user')
  return user && hasDemoUsers(environment)
    ? { login: { username: user[login.field], password: DEMO_PASSWORD } }
    : {}
}

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
  const standings = createStandingReader(revocations)
  const validity = createTokenValidity({ revocations: standings, endReused, cacheSeconds, clock, monotonic })
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
  const unlessPaused = createRedisPause(server.log)
  const createCounter = await openCounters(server, limitStore, unlessPaused)
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

const requireValidAt = (clock: Clock) => (db: Queryable, claims: Claims) =>
  requireValid(createRevocationRepository(db), claims, clock())

const replaceHashIn = (db: Database) => (userid: string, oldHash: string, newHash: string) =>
  db.transaction((transaction) => createUserRepository(transaction).replaceHash(userid, oldHash, newHash))

const buildMails = <Templates extends MailTemplates>(
  templates: Templates,
  { mail }: Config,
  { dispatcher, clock }: Pick<AppDependencies, 'dispatcher'> & { clock: Clock },
): Mails<Templates> => createMails({ templates, sealer: createSealer(mail.secret), dispatcher, clock })

function buildProfile({ tokens, reset, profile }: Config, parts: Parts) {
  const { db, transaction, mails, notify, requireValid, clock, passwordClientOf, callerOf } = parts
  const { limitEmailChange, limitChanges, limitChangesTo } = parts
  const usersOf = createUserRepository
  const changesOf = createChangeRepository
  const secrets = createCodeSecrets('email', tokens.secret, tokens.previousSecret)
  const required = { requireValid, clock }
  const makeEmailChange = createMakeEmailChange({ usersOf, endCodes, notify, clock })
  const requestChange = createRequestChange({ ...reset, usersOf, changesOf, mails, secrets, clock })
  const isConfirmed = profile.emailChange === 'confirmed'
  const changeEmail: MakeEmailChange = (db, user, email, caller) =>
    isConfirmed && !isSameMailbox(user, email)
      ? requestChange(db, user, email, caller.audit)
      : makeEmailChange(db, user, email, caller)
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
      if (isConfirmed) return guardChange(callerOf(request), { currentPassword, ...change }, client)
      const update = () => updateProfile(callerOf(request), change)
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
  { db, passwords, transaction, users, mails, notify, clock }: Parts,
) {
  const resets = createResetRepository(db)
  const secrets = createCodeSecrets('reset', tokens.secret, tokens.previousSecret)
  const inTransaction = {
    transaction,
    resetsOf: createResetRepository,
    usersOf: createUserRepository,
    endCodes,
    notify,
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
