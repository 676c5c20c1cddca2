import { mkdirSync, realpathSync } from 'node:fs'
import { createServer } from 'node:net'
import { resolve } from 'node:path'
import pg from 'pg'
import { openCluster } from './cluster.ts'
import { acquireLauncherLock } from './launcher-lock.ts'
import { stopLeftoverServer } from './leftover-server.ts'
import { findPostgresBinaries } from './postgres-binaries.ts'
import { PortTakenError, type Postmaster, type PostmasterOptions, startPostmaster } from './postmaster.ts'
import { chooseServerAccount } from './server-account.ts'

export const PREFERRED_PORT = 54_329
const SUPERUSER = 'latchkey'

export interface EmbeddedPostgresOptions {
  /** Latchkey's data folder; made when missing. The cluster lives in its subfolder `postgres`. */
  dataDir: string
  /** Tried first, every time; a free one is taken where something else holds it. Default 54329. */
  port?: number
  /** Created when missing. */
  database: string
  /** Gets what PostgreSQL logs, line by line, without statements, row values or secrets. */
  log?: (line: string) => void
}

export interface EmbeddedServer extends AsyncDisposable {
  /** Holds the generated password: to be handed on, not to be printed. */
  url: string
  port: number
  /** Settles when the server is gone: with undefined after `stop()`, with PostgreSQL's last words otherwise. */
  exited: Promise<Error | undefined>
  /** Fast shutdown: ends open connections and leaves no process behind. May be called again. */
  stop(): Promise<void>
}

/**
 * Starts PostgreSQL on 127.0.0.1 from the binaries in node_modules, after recovering whatever a killed launcher
 * left behind. Throws when another living launcher uses the data folder, or with what PostgreSQL said.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedServer> {
  const { port = PREFERRED_PORT, database, log = () => {} } = options
  const dataDir = prepareDataDir(options.dataDir)
  const lock = await acquireLauncherLock(dataDir)
  try {
    const binaries = await findPostgresBinaries()
    const account = await chooseServerAccount(dataDir, binaries)
    const cluster = await openCluster({ dataDir, superuser: SUPERUSER, binaries, account, log })
    const { dataDirectory } = cluster
    await stopLeftoverServer({ dataDirectory, account, log })

    const postmaster = await startOnFreePort({ dataDirectory, port, binaries, account, log })
    const urlOf = (name: string) =>
      `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${postmaster.port}/${encodeURIComponent(name)}`
    const stop = once(async () => {
      await postmaster.stop()
      await stopLeftoverServer({ dataDirectory, account, log })
      lock.release()
    })
    await ensureDatabase(database, urlOf('postgres')).catch(async (cause: unknown) => {
      await stop()
      throw new Error(
        `The embedded PostgreSQL could not open the database "${database}": ${messageOf(cause)}`,
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

/** Resolves links, because a server is recognised by the real path of its working directory. */
function prepareDataDir(dataDir: string): string {
  const path = resolve(dataDir)
  try {
    mkdirSync(path, { recursive: true })
    return realpathSync(path)
  } catch (cause) {
    throw new Error(`The data folder ${path} (DATA_DIR) cannot be made: ${messageOf(cause)}`, { cause })
  }
}

async function startOnFreePort(options: PostmasterOptions): Promise<Postmaster> {
  let port = (await isFree(options.port)) ? options.port : await findFreePort()
  if (port !== options.port) options.log(`Port ${options.port} is taken; PostgreSQL listens on ${port}`)
  // Between the look and the start somebody else may take the port.
  for (let attempt = 1; attempt < 5; attempt++) {
    try {
      return await startPostmaster({ ...options, port })
    } catch (error) {
      if (!(error instanceof PortTakenError)) throw error
      port = await findFreePort()
    }
  }
  return startPostmaster({ ...options, port })
}

async function isFree(port: number): Promise<boolean> {
  return probe(port).then(
    () => true,
    () => false,
  )
}

const findFreePort = (): Promise<number> => probe(0)

/** Listens for a moment on the port (0: any) and tells which one it was. */
function probe(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : port))
    })
  })
}

async function ensureDatabase(database: string, maintenanceUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: maintenanceUrl })
  client.on('error', () => undefined) // The statement in hand reports the loss.
  await client.connect()
  try {
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])
    if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`)
  } finally {
    await client.end()
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function once(action: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    running ??= action()
    return running
  }
}
