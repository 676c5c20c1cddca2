import { join, relative, resolve } from 'node:path'
import { AppError } from '@latchkey/shared/app-error.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { CONFIG_DIR } from '@latchkey/shared/settings/environment.ts'
import { findSetting, parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { EXIT_CONFIGURATION, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import getPort from 'get-port'
import { ENVIRONMENTS, writeCredentials } from '../credentials-file.ts'
import { startEmbeddedPostgres } from '../embedded/postgres.ts'
import { writeAdminEnvironment } from './admin-environment.ts'
import { DEMO_PASSWORD, DEMO_USERS, seedDemoUsers } from './demo-users.ts'
import { loadLaunchEnvironment } from './launch-settings.ts'
import { type ServiceProcess, startService } from './service-process.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** MailDev's own ports; another is taken where something listens there already. */
const INBOX_HOST = '127.0.0.1'
const INBOX_SMTP_PORT = 1025
const INBOX_WEB_PORT = 1080
/** All that the inbox needs of the environment: it is a program of others, and no secret is meant for it. */
const INBOX_SETTINGS = ['PATH', 'TMPDIR', 'TEMP', 'SystemRoot', 'NODE_COMPILE_CACHE']

/** The environments whose demo users everybody may know. */
const DEMO_ENVIRONMENTS = ['dev', 'test']

const OWN_PARTS = 'Without DATABASE_URL, QUEUE_URL and MAIL_URL in the environment npm start brings its own.'

/** Something to stop; what was started last is stopped first. */
type Stop = () => Promise<void>

/**
 * Starts all of Latchkey and keeps it running until it is told to stop or a part of it ends; returns the exit code.
 * Whatever happens, everything that was started is stopped.
 */
export async function launch(processEnvironment: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now()
  const told = new Promise<'told'>((tell) => {
    // Not `once`: npm passes Ctrl-C on, so it comes twice, and the second would end this process in mid-stop.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => tell('told'))
  })
  const stops: Stop[] = []
  try {
    const started = start(processEnvironment, stops)
    const outcome = await Promise.race([started, told])
    if (outcome === 'told') {
      // What is half started registers its stop when it is there.
      await started.catch(() => undefined)
      return 0
    }
    say(welcome(outcome, Math.round(performance.now() - startedAt)))
    const end = await Promise.race([told, outcome.ended])
    if (end === 'told') return 0
    complain(`${end} Everything is stopped.`)
    return 1
  } catch (error) {
    complain(error instanceof Error ? error.message : String(error))
    return error instanceof SettingsError ? EXIT_CONFIGURATION : 1
  } finally {
    for (const stop of stops.reverse()) await stop().catch((error: unknown) => complain(String(error)))
    if (stops.length > 0) say('Stopped.')
  }
}

interface Running {
  environment: Environment
  /** What an admin's shell reads to reach the embedded database. */
  adminFile: string | undefined
  address: string
  inboxAddress: string | undefined
  hasDemoUsers: boolean
  /** Resolves, saying which, when a part ends by itself. */
  ended: Promise<string>
}

async function start(processEnvironment: NodeJS.ProcessEnv, stops: Stop[]): Promise<Running> {
  for (const name of ENVIRONMENTS) {
    if (await writeCredentials(CONFIG_DIR, name)) say(`Made fresh secrets: config/${name}/credentials.env`)
  }
  const given = await loadLaunchEnvironment(processEnvironment)
  await refuseTakenPorts(given)

  const { environment, inbox, ended: databaseEnded } = await startEmbedded(given, stops)
  const services = [
    startService('auth-api', join(ROOT, 'services/auth-api/src/main.ts'), environment),
    startService('mailer-worker', join(ROOT, 'services/mailer-worker/src/main.ts'), {
      ...withoutSigningSecrets(environment),
      METRICS_PORT: await freeMetricsPort(environment),
    }),
  ] as const
  stops.push(async () => void (await Promise.all(services.map(({ stop }) => stop()))))

  const hasDemoUsers = DEMO_ENVIRONMENTS.includes(environment.APP_ENV ?? '')
  // The services load meanwhile; they are not ready before the tables are.
  await prepareDatabase(environment, hasDemoUsers).catch((error: unknown) => {
    // A shell that read .data/environment still names the database of a start that is over.
    const isGone = given.DATABASE_URL && error instanceof AppError && error.code === 'unavailable'
    throw isGone ? new Error(`${error.message}. ${OWN_PARTS}`) : error
  })
  const [{ address = '' }] = await Promise.all([readyOf(services[0]), readyOf(services[1])])
  const inboxAddress = inbox && (await readyOf(inbox)).address
  const parts = inbox ? [...services, inbox] : services
  // With a database of one's own, one knows its address.
  const admin = given.DATABASE_URL ? undefined : writeAdminEnvironment(dataDirOf(given), environment)
  if (admin) stops.push(async () => admin.remove())
  return {
    environment,
    adminFile: admin?.path,
    address,
    inboxAddress,
    hasDemoUsers,
    ended: Promise.race([
      databaseEnded,
      ...parts.map(async ({ name, exited }) => `${name} ended with ${await exited}.`),
    ]),
  }
}

/** For mailer-worker: METRICS_PORT, where it is set, is auth-api's. */
async function freeMetricsPort({ HOST }: Environment): Promise<string> {
  const { METRICS_PORT } = parseSettings(['METRICS_PORT'], {}, 'mailer-worker')
  return String(await getPort({ port: METRICS_PORT, host: HOST ?? INBOX_HOST }))
}

/** mailer-worker issues no tokens, so it does not get the keys that sign them. */
const withoutSigningSecrets = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('JWT_SECRET')))

async function readyOf(service: ServiceProcess) {
  try {
    return await service.ready
  } catch (error) {
    throw new Error(
      `${service.name} ${error instanceof Error ? error.message : String(error)}; it says why above.`,
    )
  }
}

async function refuseTakenPorts(environment: Environment): Promise<void> {
  const { HOST, PORT, METRICS_PORT } = parseSettings(['HOST', 'PORT', 'METRICS_PORT'], environment)
  for (const [name, port] of Object.entries({ PORT, METRICS_PORT })) {
    if (port !== 0 && (await getPort({ port, host: HOST })) !== port) {
      throw new Error(
        `${HOST}:${port} cannot be used: another process, perhaps another \`npm start\`, already listens there, or the port is ` +
          `reserved for root. Stop that process, or set ${name} to another port.`,
      )
    }
  }
}

interface Embedded {
  environment: Environment
  inbox: ServiceProcess | undefined
  ended: Promise<string>
}

/** Starts what no setting replaces, and gives the environment in which every part has its address. */
async function startEmbedded(given: Environment, stops: Stop[]): Promise<Embedded> {
  const database = given.DATABASE_URL
  const needsPostgres = !database || !findSetting('QUEUE_URL', given)
  const server = needsPostgres ? await startPostgres(given, stops) : undefined
  const databaseUrl = database || server?.url
  const queueUrl = findSetting('QUEUE_URL', { ...given, DATABASE_URL: databaseUrl }) ?? server?.url
  const mail = given.MAIL_URL ? undefined : await startInbox(given, stops)
  const never = new Promise<string>(() => undefined)
  return {
    environment: {
      LOG_LEVEL: 'warn',
      ...given,
      DATABASE_URL: databaseUrl,
      QUEUE_URL: queueUrl,
      MAIL_URL: given.MAIL_URL || mail?.url,
    },
    inbox: mail?.inbox,
    ended: server ? server.exited.then((error) => `The embedded PostgreSQL ended: ${error?.message}`) : never,
  }
}

async function startInbox(
  given: Environment,
  stops: Stop[],
): Promise<{ inbox: ServiceProcess; url: string }> {
  const smtpPort = await getPort({ port: INBOX_SMTP_PORT, host: INBOX_HOST })
  const inbox = startService('mail inbox', join(import.meta.dirname, 'mail-inbox.ts'), {
    ...Object.fromEntries(INBOX_SETTINGS.map((name) => [name, given[name]])),
    MAILDEV_SMTP_PORT: String(smtpPort),
    MAILDEV_WEB_PORT: String(await getPort({ port: INBOX_WEB_PORT, host: INBOX_HOST })),
  })
  stops.push(inbox.stop)
  return { inbox, url: `smtp://${INBOX_HOST}:${smtpPort}` }
}

const dataDirOf = (environment: Environment): string =>
  resolve(ROOT, parseSettings(['DATA_DIR'], environment).DATA_DIR)

async function startPostgres(given: Environment, stops: Stop[]) {
  const server = await startEmbeddedPostgres({
    dataDir: dataDirOf(given),
    database: 'latchkey',
    // What the server does as always is of no interest, and who sent a statement that fails reports it; when the
    // server itself fails, the error holds its last lines.
    log: (line) => void (/ (LOG|ERROR): /.test(line) || say(line)),
  })
  stops.push(server.stop)
  return server
}

async function prepareDatabase(environment: Environment, hasDemoUsers: boolean): Promise<void> {
  const { DATABASE_URL, QUEUE_URL } = parseSettings(['DATABASE_URL', 'QUEUE_URL'], environment)
  await withDatabase(DATABASE_URL, async (db) => {
    await createMigrator(db).up()
    await prepareQueue(QUEUE_URL)
    if (!hasDemoUsers) return
    const { PASSWORD_HASH } = parseSettings(['PASSWORD_HASH'], environment)
    const passwords = createPasswordHasher({ scheme: PASSWORD_HASH, concurrency: 1, queueLimit: 10 })
    await seedDemoUsers(db, passwords)
    await passwords.close()
  })
}

function welcome(
  { environment, adminFile, address, inboxAddress, hasDemoUsers }: Running,
  milliseconds: number,
): string {
  const where = (url = '') => {
    const { protocol, host, pathname } = new URL(url)
    return `${protocol}//${host}${pathname}`
  }
  // Every address of this machine, which is none to go to.
  const api = address.replace('//0.0.0.0:', '//localhost:')
  const users = DEMO_USERS.map(({ email, role }) => `${email} (${role})`).join(', ')
  return `
Latchkey is ready after ${milliseconds} ms (environment ${environment.APP_ENV}).

  API        ${api}
  try it     ${api}/docs
  database   ${where(environment.DATABASE_URL)}
  queue      ${where(environment.QUEUE_URL)}
  mail       ${inboxAddress ? `${inboxAddress} (every mail lands in this inbox)` : where(environment.MAIL_URL)}
${hasDemoUsers ? `  users      ${users}, password ${DEMO_PASSWORD}\n` : ''}${adminFile ? `  admin      . ${shorten(adminFile)} && npx scriptify run Users::list\n` : ''}
Ctrl-C stops everything.
`
}

const shorten = (path: string): string => (path.startsWith(join(ROOT, '/')) ? relative(ROOT, path) : path)

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const complain = (text: string): void => void process.stderr.write(`${text}\n`)
