import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import getPort from 'get-port'
import { openCluster } from './cluster.ts'
import { findPostgresBinaries } from './postgres-binaries.ts'
import { type Postmaster, type PostmasterOptions, startPostmaster } from './postmaster.ts'
import { chooseServerAccount } from './server-account.ts'

const PREFERRED_PORT = 54_329
const SUPERUSER = 'latchkey'
const HOST = '127.0.0.1'
/** Time within which the server of a killed launcher begins to stop. */
const GRACE_MS = 1_000

export interface EmbeddedPostgresOptions {
  /** Latchkey's data folder, created when missing. The cluster is in its subfolder `postgres`. */
  dataDir: string
  /** Tried first at every start. If it is taken, the server gets a free port. Default 54329. */
  port?: number
  /** Created when missing. */
  database: string
  /** Called with each line that PostgreSQL logs: no statements, row values or secrets. */
  log?: (line: string) => void
  /** Settings of PostgreSQL over those of the launcher, such as `fsync: 'off'` for data that a test throws away. */
  settings?: Record<string, string>
}

export interface EmbeddedServer extends Postmaster, AsyncDisposable {
  /** Contains the generated password: do not print it. */
  url: string
  port: number
}

/**
 * Starts PostgreSQL on 127.0.0.1 from the binaries in node_modules; the server ends with this process, however that
 * ends. Throws when another server runs on the data folder, or with PostgreSQL's last lines.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedServer> {
  const { port: preferredPort = PREFERRED_PORT, database, log = () => {}, settings } = options
  const dataDir = createDataDir(options.dataDir)
  const binaries = await findPostgresBinaries()
  const account = await chooseServerAccount(dataDir, binaries)
  const { dataDirectory, password } = await openCluster({ dataDir, superuser: SUPERUSER, binaries, account })
  const server = { dataDirectory, binaries, account, log, settings }
  const { port, exited, stop } = await startOnFreePort(server, { dataDir, preferredPort })
  if (port !== preferredPort) log(`Port ${preferredPort} is taken; PostgreSQL listens on ${port}`)
  const urlOf = (name: string) =>
    `postgres://${SUPERUSER}:${password}@${HOST}:${port}/${encodeURIComponent(name)}`
  await ensureDatabase(database, urlOf('postgres')).catch(async (cause: unknown) => {
    await stop()
    const reason = errorMessage(cause)
    throw new Error(`The embedded PostgreSQL could not open the database "${database}": ${reason}`, { cause })
  })
  return { url: urlOf(database), port, exited, stop, [Symbol.asyncDispose]: stop }
}

/** Creates the folder if it is missing, and returns its absolute path; throws, naming DATA_DIR, when it cannot be used. */
export function createDataDir(dataDir: string): string {
  const path = resolve(dataDir)
  try {
    // Node's mkdir is not used: below /proc its recursive form never returns.
    execFileSync('mkdir', ['-p', '--', path], { stdio: 'pipe' })
    // The owner of an existing cluster is checked with the cluster.
    if (!existsSync(join(path, 'postgres'))) accessSync(path, constants.W_OK)
    return path
  } catch (cause) {
    throw new Error(`The data folder ${path} (DATA_DIR) cannot be used: ${errorMessage(cause)}`, { cause })
  }
}

/** The message of PostgreSQL when another process has taken the port, or the data folder, since it was free. */
const LOST_RACE = /could not bind|lock file "postmaster\.pid" already exists/
const ATTEMPTS = 5

async function startOnFreePort(
  server: Omit<PostmasterOptions, 'port'>,
  { dataDir, preferredPort }: { dataDir: string; preferredPort: number },
): Promise<Postmaster & { port: number }> {
  for (let attempt = 1; ; attempt++) {
    await requireNoServer(server, dataDir)
    const port = await getPort({ port: preferredPort, host: HOST })
    try {
      return { port, ...(await startPostmaster({ ...server, port })) }
    } catch (error) {
      if (attempt === ATTEMPTS || !LOST_RACE.test(errorMessage(error))) throw error
    }
  }
}

/** Waits for the server of a launcher that was killed, which stops by itself, and throws when another one runs. */
async function requireNoServer(
  { dataDirectory, binaries, account }: Pick<PostmasterOptions, 'dataDirectory' | 'binaries' | 'account'>,
  dataDir: string,
): Promise<void> {
  const begun = Date.now()
  const isRunning = () =>
    account.run(binaries.pg_ctl, ['status', '--pgdata', dataDirectory]).then(
      () => true,
      () => false,
    )
  while (await isRunning()) {
    const [pid, , , port, , , , state = ''] = readPostmasterFile(dataDirectory)
    if (Date.now() - begun > GRACE_MS && !state.startsWith('stopping')) {
      throw new Error(
        `Latchkey is already running on the data folder ${dataDir} (PostgreSQL with pid ${pid} on port ${port}). ` +
          'Stop it first, or set another DATA_DIR.',
      )
    }
    await sleep(50)
  }
}

/** The lines in which a server says what it is: the first is its pid, the fourth its port, the eighth its state. */
function readPostmasterFile(dataDirectory: string): string[] {
  try {
    return readFileSync(join(dataDirectory, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return [] // It has ended by now.
  }
}

const FIND_DATABASE = { name: 'database-find', text: 'select 1 from pg_database where datname = $1' }

const ensureDatabase = (database: string, maintenanceUrl: string): Promise<void> =>
  withDatabase(maintenanceUrl, async (db) => {
    const found = await db.query(FIND_DATABASE, [database])
    if (found.length === 0) await db.runScript(`create database "${database.replaceAll('"', '""')}"`)
  })
