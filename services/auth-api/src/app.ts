import { randomUUID } from 'node:crypto'
import cors from '@fastify/cors'
import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { createReadiness, type Readiness, rememberingSuccess } from '@latchkey/shared/health/readiness.ts'
import { createMails } from '@latchkey/shared/mail-outbox/accept-mail.ts'
import type { MailDispatcher } from '@latchkey/shared/mail-outbox/dispatch-mail.ts'
import { MAIL_TEMPLATES } from '@latchkey/shared/mail-outbox/mail-templates.ts'
import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import type { MailQueue } from '@latchkey/shared/mail-queue/mail-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginCallback,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { Registry } from 'prom-client'
import type { Config } from './config.ts'
import { createDatabaseCheck } from './features/health/check-database.ts'
import { healthRoutes } from './features/health/routes.ts'
import { createLogIn } from './features/login/log-in.ts'
import { loginRoutes } from './features/login/routes.ts'
import { createConfirmCode } from './features/password-reset/confirm-code.ts'
import { createRequestReset } from './features/password-reset/request-reset.ts'
import { createResetRepository } from './features/password-reset/reset-repository.ts'
import { createResetSecrets } from './features/password-reset/reset-secrets.ts'
import { passwordResetRoutes } from './features/password-reset/routes.ts'
import { createSetPassword } from './features/password-reset/set-password.ts'
import { profileRoutes } from './features/profile/routes.ts'
import { createUpdateProfile } from './features/profile/update-profile.ts'
import { sampleProtectedRoutes } from './features/sample-protected/routes.ts'
import { authenticate } from './features/tokens/authenticate.ts'
import { createTokenIssuer } from './features/tokens/issue-token.ts'
import { createRefreshToken } from './features/tokens/refresh-token.ts'
import { tokenRoutes } from './features/tokens/routes.ts'
import { importSigningKey } from './features/tokens/signing-key.ts'
import { createTokenValidity } from './features/tokens/token-validity.ts'
import { createTokenVerifier } from './features/tokens/verify-token.ts'
import { createClientErrorHandler, ownRefusals } from './plugins/client-errors.ts'
import { jsonBody } from './plugins/json-body.ts'
import { metrics } from './plugins/metrics.ts'
import { openapi } from './plugins/openapi.ts'
import { fromStatus, problemDetails, sendProblem } from './plugins/problem-details.ts'
import { limits, type RateLimitOptions } from './plugins/rate-limit/limits.ts'
import { responseHeaders } from './plugins/response-headers.ts'

export interface AppDependencies {
  db: Database
  passwords: PasswordHasher
  dispatcher: MailDispatcher
  queue: Pick<MailQueue, 'ping'>
  logger: FastifyBaseLogger
  /** Where the replicas count limits together. */
  limitStore?: RateLimitOptions['redis'] | undefined
  /** Makes a span of each request; absent where nobody collects traces. */
  traceRequests?: FastifyPluginCallback | undefined
  clock?: Clock
  registry?: Registry
}

export interface App {
  server: FastifyInstance
  readiness: Readiness
}

const MAX_BODY_BYTES = 16 * 1024
/** What a page of another origin may send and read. Which methods a path has is the routes' to say. */
const CROSS_ORIGIN = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  exposedHeaders: ['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
  // A preflight is counted like every request, and one that is incomplete is no plain-text 400.
  preflightContinue: true,
  strictPreflight: false,
}

/** Joins the parts of auth-api. Opens and closes nothing: `main.ts` does. */
export async function buildApp(config: Config, dependencies: AppDependencies): Promise<App> {
  const {
    db,
    passwords,
    dispatcher,
    queue,
    logger,
    limitStore,
    traceRequests,
    clock = Date.now,
    registry = new Registry(),
  } = dependencies
  const users = createUserRepository(db)
  const { issuer, lifetimeSeconds, refreshWindowSeconds, revocationCacheSeconds } = config.tokens
  const key = await importSigningKey(config.tokens.secret)
  const previous = config.tokens.previousSecret && (await importSigningKey(config.tokens.previousSecret))

  const issueToken = createTokenIssuer({ key, issuer, lifetimeSeconds })
  const verifier = createTokenVerifier({ keys: previous ? [key, previous] : [key], issuer, clock })
  const validity = createTokenValidity({ users, cacheSeconds: revocationCacheSeconds })
  const readiness = createReadiness(
    {
      database: createDatabaseCheck(db, createMigrator(db)),
      // An address that never answered is a wrong one. Later on, mail waits in the outbox while the queue is away.
      queue: rememberingSuccess(async () => (await queue.ping()) ?? 'ok', Number.POSITIVE_INFINITY, clock),
    },
    clock,
  )
  const replaceHash = (userid: string, oldHash: string, newHash: string) =>
    db.transaction((transaction) => createUserRepository(transaction).replaceHash(userid, oldHash, newHash))

  const transaction: Database['transaction'] = (work) => db.transaction(work)
  const sealer = createSealer(config.mail.secret)
  const mails = createMails({ templates: MAIL_TEMPLATES, sealer, dispatcher, clock })
  const resets = createResetRepository(db)
  const secrets = createResetSecrets(config.tokens.secret, config.tokens.previousSecret)

  const server = createServer(config, logger)
  // First, so that what the other plugins do lies inside the span.
  if (traceRequests) await server.register(traceRequests)
  await server.register(problemDetails)
  await server.register(responseHeaders, { isDraining: readiness.isDraining })
  await server.register(metrics, { registry })
  // Before whatever refuses: a page can read a refusal only by these headers.
  if (config.http.corsOrigins.length > 0)
    await server.register(cors, { origin: config.http.corsOrigins, ...CROSS_ORIGIN })
  // Before the content-type gate: what that refuses counts as a request.
  await server.register(limits, { limits: config.limits, secret: config.tokens.secret, redis: limitStore })
  await server.register(ownRefusals)
  await server.register(jsonBody)
  await server.register(authenticate, { verifier, validity })
  await server.register(openapi, { publicUrl: config.http.publicUrl })

  await server.register(healthRoutes, { readiness })
  await server.register(loginRoutes, {
    logIn: createLogIn({ users, replaceHash, passwords, issueToken, clock, field: config.login.field }),
  })
  await server.register(tokenRoutes, {
    refreshToken: createRefreshToken({ users, issueToken, refreshWindowSeconds, clock }),
  })
  await server.register(profileRoutes, {
    users,
    updateProfile: createUpdateProfile({
      transaction: (work) => db.transaction(work),
      usersOf: createUserRepository,
    }),
  })
  await server.register(passwordResetRoutes, {
    requestReset: createRequestReset({
      users,
      transaction,
      resetsOf: createResetRepository,
      mails,
      secrets,
      ttlSeconds: config.reset.ttlSeconds,
      clock,
    }),
    confirmCode: createConfirmCode({ resets, secrets, attempts: config.reset.attempts, clock }),
    setPassword: createSetPassword({
      transaction,
      resets,
      resetsOf: createResetRepository,
      usersOf: createUserRepository,
      secrets,
      passwords,
      policy: config.policy,
      clock,
    }),
  })
  await server.register(sampleProtectedRoutes)
  return { server, readiness }
}

function createServer(config: Config, logger: FastifyBaseLogger): FastifyInstance {
  const server = Fastify({
    loggerInstance: logger,
    // An ingress logs each request; here one costs a line only at the level debug.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    trustProxy: config.http.trustedProxies.length > 0 ? config.http.trustedProxies : false,
    requestIdHeader: false,
    genReqId: ({ headers }) => acceptedRequestId(headers['x-request-id']) ?? randomUUID(),
    // A request on a kept connection is answered while the service stops: the proxy could not know.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: 30_000,
    keepAliveTimeout: 72_000,
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
      return sendProblem(request as FastifyRequest, reply, fromStatus(error.statusCode ?? 400, error.code))
    },
    clientErrorHandler: createClientErrorHandler(logger),
    // `ownRefusals` does.
    http: { requireHostHeader: false },
  })
  server.setValidatorCompiler(validatorCompiler)
  server.setSerializerCompiler(serializerCompiler)
  return server
}

/** An id that came from outside is taken over only when it can do no harm in a log or a header. */
const acceptedRequestId = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && /^[\w.-]{8,64}$/.test(header) ? header : undefined
