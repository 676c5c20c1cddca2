import { mkdirSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { errorMessage } from '@latchkey/shared/error-message.ts'
import getPort from 'get-port'
import pg from 'pg'
import { openCluster } from './cluster.ts'
import { acquireLauncherLock } from './launcher-lock.ts'
import { stopLeftoverServer } from './leftover-server.ts'
import { findPostgresBinaries } from './postgres-binaries.ts'
import { PortTakenError, type Postmaster, type PostmasterOptions, startPostmaster } from './postmaster.ts'
import { chooseServerAccount } from './server-account.ts'

const PREFERRED_PORT = 54_329
const SUPERUSER = 'latchkey'
const HOST = '127.0.0.1'
const MAX_PORT_ATTEMPTS = 5

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

export interface EmbeddedServer extends AsyncDisposable {
  /** Contains the generated password: do not print it. */
  url: string
  port: number
  /** Resolves when the server has ended: with undefined after `stop()`, else with PostgreSQL's last lines. */
  exited: Promise<Error | undefined>
  /** Fast shutdown: ends open connections and leaves no process behind. May be called twice. */
  stop(): Promise<void>
}

/**
 * Starts PostgreSQL on 127.0.0.1 from the binaries in node_modules, after stopping what a killed launcher left behind.
 * Throws when another launcher runs on the data folder, or with PostgreSQL's last lines.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedServer> {
  const { port = PREFERRED_PORT, database, log = () => {}, settings } = options
  const dataDir = prepareDataDir(options.dataDir)
  const lock = await acquireLauncherLock(dataDir)
  try {
    const binaries = await findPostgresBinaries()
    const account = await chooseServerAccount(dataDir, binaries)
    const cluster = await openCluster({ dataDir, superuser: SUPERUSER, binaries, account, log })
    const { dataDirectory } = cluster
    await stopLeftoverServer({ dataDirectory, account, log })

    const postmaster = await startOnFreePort({ dataDirectory, port, binaries, account, log, settings })
    const urlOf = (name: string) =>
      `postgres://${SUPERUSER}:${cluster.password}@${HOST}:${postmaster.port}/${encodeURIComponent(name)}`
    const stop = once(async () => {
      await postmaster.stop()
      await stopLeftoverServer({ dataDirectory, account, log })
      lock.release()
    })
    await ensureDatabase(database, urlOf('postgres')).catch(async (cause: unknown) => {
      await stop()
      throw new Error(
        `The embedded PostgreSQL could not open the database "${database}": ${errorMessage(cause)}`,
        {
          cause,
        },
      )
    })
    lock.announce(postmaster.port)
    return {
      url: urlOf(database),
      port: postmaster.port,
      exited: postmaster.exited,
      stop,
      [Symbol.asyncDispose]: stop,
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** Creates the folder. Resolves links, because a server is recognised by the real path of its working directory. */
function prepareDataDir(dataDir: string): string {
  const path = resolve(dataDir)
  try {
    mkdirSync(path, { recursive: true })
    return realpathSync(path)
  } catch (cause) {
    throw new Error(`The data folder ${path} (DATA_DIR) cannot be created: ${errorMessage(cause)}`, { cause })
  }
}

/** Another process may take the port before the server does: then the next one, as get-port offers none twice. */
async function startOnFreePort(options: PostmasterOptions): Promise<Postmaster> {
  for (let attempt = 1; ; attempt++) {
    const port = await getPort({ port: options.port, host: HOST })
    if (port !== options.port) options.log(`Port ${options.port} is taken; PostgreSQL listens on ${port}`)
    try {
      return await startPostmaster({ ...options, port })
    } catch (error) {
      if (!(error instanceof PortTakenError) || attempt === MAX_PORT_ATTEMPTS) throw error
    }
  }
}

async function ensureDatabase(database: string, maintenanceUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: maintenanceUrl })
  client.on('error', () => undefined) // The pending statement reports the loss.
  await client.connect()
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`)
  } finally {
    await client.end()
  }
}

function once(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= action()
    return running
  }
}
