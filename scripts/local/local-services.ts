import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Lifecycle } from '@latchkey/shared/lifecycle/run-service.ts'
import { findSetting, parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import getPort from 'get-port'
import { createDataDir, startEmbeddedPostgres } from './embedded/postgres.ts'
import { openService } from './service-process.ts'

const ROOT = join(import.meta.dirname, '..', '..')

const INBOX_HOST = '127.0.0.1'
/** MailDev's defaults. If one is taken, the inbox gets a free port. */
const INBOX_SMTP_PORT = 1025
const INBOX_WEB_PORT = 1080
/** MailDev is third-party code: it gets no secret. */
const INBOX_SETTINGS = ['PATH', 'TMPDIR', 'TEMP', 'NODE_COMPILE_CACHE']

export interface LocalServices {
  /** The given environment with the addresses of the database, the queue and the inbox. */
  environment: Environment
  /** The environment's folder below DATA_DIR. */
  dataDir: string
}

/** Starts what no setting replaces: the mail inbox, which loads while PostgreSQL starts, and the embedded PostgreSQL. */
export async function startLocalServices(lifecycle: Lifecycle, given: Environment): Promise<LocalServices> {
  const { DATA_DIR, APP_ENV } = parseSettings(['DATA_DIR', 'APP_ENV'], given)
  const dataDir = createDataDir(resolve(ROOT, DATA_DIR, APP_ENV))
  const mail = given.MAIL_URL ? undefined : await startInbox(lifecycle, given)
  const needsPostgres = !given.DATABASE_URL || !findSetting('QUEUE_URL', given)
  const server = needsPostgres ? await startPostgres(lifecycle, dataDir) : undefined
  const databaseUrl = given.DATABASE_URL || server?.url
  const queueUrl = findSetting('QUEUE_URL', { ...given, DATABASE_URL: databaseUrl }) ?? server?.url
  return {
    environment: {
      ...given,
      DATABASE_URL: databaseUrl,
      QUEUE_URL: queueUrl,
      MAIL_URL: given.MAIL_URL || mail?.url,
      INBOX_URL: given.INBOX_URL || mail?.page,
    },
    dataDir,
  }
}

async function startPostgres(lifecycle: Lifecycle, dataDir: string) {
  const server = await lifecycle.open(
    () =>
      startEmbeddedPostgres({
        dataDir,
        database: 'latchkey',
        // LOG is routine, and clients report their own ERROR. If the server fails, the error quotes its last lines.
        log: (line) => void (/ (LOG|ERROR): /.test(line) || process.stdout.write(`${line}\n`)),
      }),
    (server) => server.stop(),
  )
  void server.exited.then((error) => error && lifecycle.fail(error))
  return server
}

/** Starts MailDev: `url` is where it accepts mail, `page` where it shows it. mailer-worker tries again until it accepts mail. */
async function startInbox(lifecycle: Lifecycle, given: Environment) {
  const smtpPort = await getPort({ port: INBOX_SMTP_PORT, host: INBOX_HOST })
  const webPort = await getPort({ port: INBOX_WEB_PORT, host: INBOX_HOST })
  const guard = join(import.meta.dirname, 'refuse-foreign.cjs')
  await openService(lifecycle, {
    name: 'mail inbox',
    args: ['--require', guard, fileURLToPath(import.meta.resolve('maildev/bin/maildev')), '--silent'],
    environment: {
      ...Object.fromEntries(INBOX_SETTINGS.map((name) => [name, given[name]])),
      MAILDEV_IP: INBOX_HOST,
      MAILDEV_SMTP_PORT: String(smtpPort),
      MAILDEV_WEB_PORT: String(webPort),
    },
    stopTimeoutMs: 1_000,
  })
  return { url: `smtp://${INBOX_HOST}:${smtpPort}`, page: `http://${INBOX_HOST}:${webPort}` }
}
