import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Lifecycle } from '@latchkey/shared/lifecycle/run-service.ts'
import { findSetting, parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { createDataDir, startEmbeddedPostgres } from './embedded/postgres.ts'
import { createOwnFolder } from './own-folder.ts'
import { openService } from './service-process.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** MailDev is third-party code: it gets no secret. */
const INBOX_SETTINGS = ['PATH', 'NODE_COMPILE_CACHE']

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
  const inbox = given.MAIL_URL ? undefined : await openInbox(lifecycle, dataDir, given)
  const needsPostgres = !given.DATABASE_URL || !findSetting('QUEUE_URL', given)
  const server = needsPostgres ? await startPostgres(lifecycle, dataDir) : undefined
  const databaseUrl = given.DATABASE_URL || server?.url
  const queueUrl = findSetting('QUEUE_URL', { ...given, DATABASE_URL: databaseUrl }) ?? server?.url
  const mail = await inbox?.ready
  return {
    environment: {
      ...given,
      DATABASE_URL: databaseUrl,
      QUEUE_URL: queueUrl,
      MAIL_URL: given.MAIL_URL || mail?.mailUrl,
      INBOX_URL: given.INBOX_URL || mail?.address,
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

/** Starts the inbox. Its mails contain codes: they lie in a folder of this user alone, which ends with this process. */
async function openInbox(lifecycle: Lifecycle, dataDir: string, given: Environment) {
  const mails = await lifecycle.open(
    () => createOwnFolder(dataDir, 'inbox'),
    (folder) => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  )
  return openService(lifecycle, {
    name: 'mail inbox',
    args: [join(import.meta.dirname, 'inbox.ts'), mails],
    environment: Object.fromEntries(INBOX_SETTINGS.map((name) => [name, given[name]])),
    stopTimeoutMs: 1_000,
  })
}
