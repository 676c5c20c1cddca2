import { type KeyObject, randomBytes } from 'node:crypto'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { configureExtensions } from '@latchkey/shared/extensions/configure-extensions.ts'
import {
  EXTENSIONS_DIR,
  getExtension,
  SHIPPED_EXTENSION,
} from '@latchkey/shared/extensions/find-extensions.ts'
import { loadExtensions } from '@latchkey/shared/extensions/load-extensions.ts'
import type { Readiness } from '@latchkey/shared/health/readiness.ts'
import { createMailDispatcher } from '@latchkey/shared/mail/outbox/dispatch-mail.ts'
import { createOutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { openSealed } from '@latchkey/shared/mail/outbox/test/open-sealed.ts'
import type { MailJob } from '@latchkey/shared/mail/queue/mail-job.ts'
import { createPasswordHasher, type PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { createUserRepository, type UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, serviceUrl, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import type { FastifyInstance } from 'fastify'
import { SignJWT } from 'jose'
import { Registry } from 'prom-client'
import { expect, onTestFailed, TestRunner } from 'vitest'
import { buildApp } from '../../src/app.ts'
import { openAuditTrail } from '../../src/audit/audit-trail.ts'
import { type Config, parseConfig } from '../../src/config.ts'
import type { AppDependencies } from '../../src/core.ts'
import { loadProviders } from '../../src/features/identity-providers/load-providers.ts'
import type { FactorKind } from '../../src/features/second-factor/second-factor.ts'

export interface TestApp extends AsyncDisposable {
  server: FastifyInstance
  readiness: Readiness
  database: TestDatabase
  users: UserRepository
  passwords: PasswordHasher
  /** `tokens.secret` is the JWT_SECRET of the tests; it is empty where a test has none. */
  config: Config & { tokens: { secret: Uint8Array } }
  registry: Registry
  /** Everything that was logged, one JSON line each. */
  logLines: string[]
  /** The jobs added to the queue, which is in memory: mailer-worker's tests have real ones. */
  queued: Map<string, MailJob>
  /** Moves the service's clock; it otherwise follows the real one. */
  setClock(now: number | undefined): void
}

export interface StartAppOptions {
  /** Settings of Latchkey and of the extensions by their names, over those of the tests. */
  settings?: Record<string, string>
  database?: TestDatabase
  limitStore?: AppDependencies['limitStore']
  /** Called with the reason why the service must not run on the database. */
  refuse?: AppDependencies['refuse']
  /** The extensions that it has, by name. Default: the one that is shipped, as an example. */
  extensions?: readonly string[]
  /** The kinds of second factors. Default: those of Latchkey. */
  factorKinds?: readonly FactorKind[]
  /** The folder that contains them. Default: `extensions/`. */
  extensionsDir?: string
  /** The service's clocks, in milliseconds; by default they follow the real ones until `setClock`. */
  time?: { readonly now: number; readonly elapsed: number }
  /** Time between two writes of the audit trail. Default an hour, so that a test that records statements sees only its own. */
  auditFlushMs?: number
  /** The identity providers. Default: those of OIDC_PROVIDERS. */
  providers?: AppDependencies['providers']
}

/** auth-api with its own rights on its own database; requests go in through `inject`. */
export async function startApp({
  settings = {},
  database,
  limitStore,
  refuse = () => undefined,
  extensions = [SHIPPED_EXTENSION],
  extensionsDir = EXTENSIONS_DIR,
  factorKinds,
  time,
  auditFlushMs = 3_600_000,
  providers,
}: StartAppOptions = {}): Promise<TestApp> {
  const loaded = await loadExtensions(extensions.map((name) => getExtension(name, extensionsDir)))
  const ownDatabase = database ?? (await createTestDatabase())
  // The database of a test may record, delay or refuse statements, so its own connections are used.
  const db = database?.db ?? (await openDatabase(serviceUrl(ownDatabase, 'auth-api'), { poolSize: 12 }))
  const environment = {
    APP_ENV: 'test',
    API_SERVER: 'http://localhost:8080',
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    // Cheap, where the hash is not the subject; production has argon2id.
    PASSWORD_HASH: 'sha1',
    // Each refusal does the work of every accepted scheme.
    PASSWORD_HASH_ACCEPTED: 'sha1',
    // One thread is enough for an app that starts its own.
    HASH_CONCURRENCY: '1',
    DATABASE_URL: ownDatabase.url,
    // Never connected to: jobs go to `queued`.
    QUEUE_URL: 'redis://127.0.0.1:1',
    // Every test comes from one address.
    RATE_LIMIT_LOGIN: '0',
    RATE_LIMIT_RESET: '0',
    RATE_LIMIT_REQUESTS: '0',
    ...settings,
  }
  const config = parseConfig(environment)
  const { secret = new Uint8Array() } = config.tokens
  const logLines: string[] = []
  showErrorsIfTestFails(logLines)
  const logger = createLogger('auth-api', 'debug', { write: (line) => void logLines.push(line) })
  const passwords = openHasher(config, settings)
  let fixedNow: number | undefined
  const localNow: Clock = () => time?.now ?? fixedNow ?? Date.now()
  const queued = new Map<string, MailJob>()
  const queue = { add: async (id: string, job: MailJob) => void queued.set(id, job) }
  const dispatcher = createMailDispatcher({
    outbox: createOutboxRepository(db),
    queue,
    localNow,
    maxDelayMs: 0,
  })
  const registry = new Registry()
  const audit = openAuditTrail({ db, logger, registry, localNow, flushMs: auditFlushMs })
  const { server, readiness } = await buildApp(
    config,
    {
      registry,
      audit,
      db,
      passwords,
      dispatcher,
      queue: { ping: async () => undefined },
      logger,
      limitStore,
      refuse,
      localNow,
      // As in production, the clock of the machine may be set meanwhile.
      elapsed: () => time?.elapsed ?? fixedNow ?? performance.timeOrigin + performance.now(),
      extensions: configureExtensions(loaded, environment),
      providers: providers ?? (await loadProviders(config.identityProviders.names, environment)),
    },
    factorKinds,
  )
  readiness.serve()
  return {
    server,
    readiness,
    config: { ...config, tokens: { ...config.tokens, secret } },
    registry,
    logLines,
    queued,
    database: ownDatabase,
    users: createUserRepository(ownDatabase.db),
    passwords,
    setClock(now) {
      fixedNow = now
    },
    async [Symbol.asyncDispose]() {
      await server.close()
      await audit.close()
      await dispatcher.close()
      await passwords.close()
      if (database) return
      await db.close()
      await ownDatabase[Symbol.asyncDispose]()
    },
  }
}

/** The hasher of apps whose test has no setting about hashes; closed with the worker. */
let cheapHasher: PasswordHasher | undefined

/** Such apps share a thread: to start one takes a third of the start of an app. */
function openHasher({ passwords }: Config, settings: Record<string, string>): PasswordHasher {
  if (Object.keys(settings).some((name) => /^(PASSWORD_)?HASH/.test(name)))
    return createPasswordHasher(passwords)
  cheapHasher ??= createPasswordHasher(passwords)
  return { ...cheapHasher, close: async () => undefined }
}

/** A failed assertion shows the status 500; only the log says why. */
function showErrorsIfTestFails(logLines: readonly string[]): void {
  // A hook has no test.
  if (!TestRunner.getCurrentTest()) return
  onTestFailed(() => console.error(loggedErrors(logLines)))
}

const loggedErrors = (logLines: readonly string[]): string =>
  logLines
    .map((line) => JSON.parse(line))
    .filter(({ level }) => level === 'error')
    .map(({ msg, err }) => `auth-api logged: ${msg} ${err?.stack ?? ''}`)
    .join('\n')

/** The mails that auth-api has put into the queue, with their variables. */
export const queuedMails = ({ queued, config }: Pick<TestApp, 'queued' | 'config'>) =>
  Promise.all(
    [...queued.values()].map(async (job) => ({
      ...job,
      variables: await openSealed(config.mail.secret, job.variables),
    })),
  )

/** The newest mail to an address, once it is queued. */
export async function mailTo(app: Pick<TestApp, 'queued' | 'config'>, to: string, template?: string) {
  const find = async () =>
    (await queuedMails(app)).findLast(
      (mail) => mail.to === to && (template === undefined || mail.template === template),
    )
  await expect.poll(find, { interval: 5 }).toBeDefined()
  const mail = await find()
  if (!mail) throw new Error(`No mail to ${to}`)
  return mail
}

/** The code of the newest mail to an address. */
export const codeTo = async (app: Pick<TestApp, 'queued' | 'config'>, to: string, template?: string) =>
  (await mailTo(app, to, template)).variables.code ?? ''

/** Deletes a user as admins do, without ending the tokens. */
export const softDelete = ({ database: { db } }: Pick<TestApp, 'database'>, { userid }: TestUser) =>
  db.execute(
    { name: 'test-delete', text: 'update users set deleted_at = current_timestamp where userid = $1' },
    [db.toUuidValue(userid)],
  )

export const logIn = ({ server }: Pick<TestApp, 'server'>, username: string, password = PASSWORD) =>
  server.inject({ method: 'POST', url: '/login', payload: { username, password } })

/** A token for `user`, got by logging in. */
export async function aToken(app: TestApp, user: TestUser): Promise<string> {
  const response = await logIn(app, user.email)
  if (response.statusCode !== 200)
    throw new Error(
      `The login was answered ${response.statusCode}: ${response.body}\n${loggedErrors(app.logLines)}`,
    )
  return response.json().token
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** The claims of the token that the service would issue for `user` now. */
export function claimsFor(app: TestApp, user: TestUser) {
  const now = Math.floor(Date.now() / 1000)
  return {
    iss: app.config.tokens.issuer,
    sub: user.userid,
    iat: now,
    nbf: now,
    exp: now + 3600,
    jti: crypto.randomUUID(),
    sid: crypto.randomUUID(),
    auth_time: now,
    valid_from: now,
    data: { userid: user.userid, name: 'Ada', role: user.role },
  }
}

/** Signs a token by hand: by default just the one that the service would issue for `user` now. */
export function signToken(
  app: TestApp,
  user: TestUser,
  given: {
    claims?: Record<string, unknown>
    header?: Record<string, unknown>
    key?: Uint8Array | KeyObject
  } = {},
): Promise<string> {
  return new SignJWT({ ...claimsFor(app, user), ...given.claims })
    .setProtectedHeader({ alg: 'HS512', typ: 'JWT', ...given.header })
    .sign(given.key ?? app.config.tokens.secret)
}
