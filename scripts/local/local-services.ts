import { join, resolve } from 'node:path'
import { findSetting, parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import getPort from 'get-port'
import { type EmbeddedServer, startEmbeddedPostgres } from './embedded/postgres.ts'
import { type ServiceProcess, startService } from './service-process.ts'

const ROOT = join(import.meta.dirname, '..', '..')

const INBOX_HOST = '127.0.0.1'
/** MailDev's defaults. If one is taken, the inbox gets a free port. */
const INBOX_SMTP_PORT = 1025
const INBOX_WEB_PORT = 1080
/** MailDev is third-party code: it gets no secret. */
const INBOX_SETTINGS = ['PATH', 'TMPDIR', 'TEMP', 'NODE_COMPILE_CACHE']

/** Stops one service. */
export type Stop = () => Promise<void>

export interface LocalServices {
  /** The given environment with the addresses of the database, the queue and the inbox. */
  environment: Environment
  /** Undefined when MAIL_URL names another mail server. */
  inbox: ServiceProcess | undefined
  /** Resolves with the reason when the embedded PostgreSQL ends by itself. */
  databaseEnded: Promise<string>
}

/** Starts what no setting replaces: the embedded PostgreSQL and the mail inbox. */
export async function startLocalServices(given: Environment, stops: Stop[]): Promise<LocalServices> {
  const needsPostgres = !given.DATABASE_URL || !findSetting('QUEUE_URL', given)
  const starting = [
    needsPostgres ? startPostgres(given, stops) : undefined,
    given.MAIL_URL ? undefined : startInbox(given, stops),
  ] as const
  // If one fails, the other must have registered its stop.
  await Promise.allSettled(starting)
  const [server, mail] = await Promise.all(starting)
  const databaseUrl = given.DATABASE_URL || server?.url
  const queueUrl = findSetting('QUEUE_URL', { ...given, DATABASE_URL: databaseUrl }) ?? server?.url
  return {
    environment: {
      LOG_LEVEL: 'warn',
      ...given,
      DATABASE_URL: databaseUrl,
      QUEUE_URL: queueUrl,
      MAIL_URL: given.MAIL_URL || mail?.url,
      INBOX_URL: given.INBOX_URL || mail?.page,
    },
    inbox: mail?.inbox,
    databaseEnded: server
      ? server.exited.then((error) => `The embedded PostgreSQL ended: ${error?.message}`)
      : new Promise(() => undefined),
  }
}

/** The absolute path of the environment's folder below DATA_DIR, which is relative to the repository. */
export function dataDirOf(environment: Environment): string {
  const { DATA_DIR, APP_ENV } = parseSettings(['DATA_DIR', 'APP_ENV'], environment)
  return resolve(ROOT, DATA_DIR, APP_ENV)
}

async function startPostgres(given: Environment, stops: Stop[]): Promise<EmbeddedServer> {
  const server = await startEmbeddedPostgres({
    dataDir: dataDirOf(given),
    database: 'latchkey',
    // LOG is routine, and clients report their own ERROR. If the server fails, the error quotes its last lines.
    log: (line) => void (/ (LOG|ERROR): /.test(line) || process.stdout.write(`${line}\n`)),
  })
  stops.push(server.stop)
  return server
}

/** `url` is where the inbox accepts mail, `page` where it shows it. */
async function startInbox(
  given: Environment,
  stops: Stop[],
): Promise<{ inbox: ServiceProcess; url: string; page: string }> {
  const smtpPort = await getPort({ port: INBOX_SMTP_PORT, host: INBOX_HOST })
  const webPort = await getPort({ port: INBOX_WEB_PORT, host: INBOX_HOST })
  const inbox = startService('mail inbox', join(import.meta.dirname, 'mail-inbox.ts'), {
    ...Object.fromEntries(INBOX_SETTINGS.map((name) => [name, given[name]])),
    MAILDEV_IP: INBOX_HOST,
    MAILDEV_SMTP_PORT: String(smtpPort),
    MAILDEV_WEB_PORT: String(webPort),
  })
  stops.push(inbox.stop)
  return {
    inbox,
    url: `smtp://${INBOX_HOST}:${smtpPort}`,
    page: `http://${INBOX_HOST}:${webPort}`,
  }
}
