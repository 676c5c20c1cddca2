import { createHash } from 'node:crypto'
import { chmodSync, constants, cpSync, globSync } from 'node:fs'
import { mkdir, mkdtemp, mkdtempDisposable, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type EmbeddedServer, startEmbeddedPostgres } from '../../scripts/local/embedded/postgres.ts'
import { forgetFolder, guardFolder } from '../guard/guard.ts'
import type { StartedServer } from './shared-servers.ts'
import { VOLATILE_FOLDER } from './volatile-folder.ts'

const ROOT = join(import.meta.dirname, '../..')
const KEPT = join(ROOT, 'node_modules/.cache/test-clusters')
const DRAFT_PREFIX = 'draft-'
const DATA_PREFIX = join(VOLATILE_FOLDER, 'latchkey-test-')
/** The facts that a prepared cluster is made of: binaries and BullMQ, the options of initdb, and what `preparePostgres` runs. */
const MADE_OF = [
  'package-lock.json',
  '{migrations,extensions}/**/*.sql',
  'scripts/local/embedded/cluster.ts',
  'test-support/servers/*.ts',
  'shared/database/**/*.ts',
  'shared/mail/queue/**/*.ts',
]

/** The server of `npm start`; with it the suites run without Docker. It starts from a copy of a prepared cluster. */
export async function start(): Promise<StartedServer> {
  const prepared = await preparedCluster()
  const dataDir = await mkdtemp(DATA_PREFIX)
  guardFolder(dataDir)
  copy(prepared, join(dataDir, 'postgres'))
  // PostgreSQL refuses a data directory that others may enter, and cpSync keeps no mode of a directory.
  chmodSync(join(dataDir, 'postgres/data'), 0o700)
  const server = await startServer(dataDir)
  return {
    url: server.url,
    async stop() {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
      forgetFolder(dataDir)
    },
  }
}

/** The path of a cluster that is kept between runs: initdb and the migrations take most of a start. */
async function preparedCluster(): Promise<string> {
  const version = await versionOfPrepared()
  const path = join(KEPT, version)
  await mkdir(KEPT, { recursive: true })
  const kept = await readdir(KEPT)
  if (kept.includes(version)) return path

  await using dataDir = await mkdtempDisposable(DATA_PREFIX)
  await using server = await startServer(dataDir.path)
  // Loaded on use: it loads BullMQ.
  const { preparePostgres } = await import('./prepare-postgres.ts')
  await preparePostgres(server.url)
  await server.stop()
  await keep(join(dataDir.path, 'postgres'), path)
  const outdated = kept.filter((name) => !name.startsWith(DRAFT_PREFIX))
  await Promise.all(outdated.map((name) => rm(join(KEPT, name), { recursive: true, force: true })))
  return path
}

/** Copies into a draft that it renames, so that a cluster is kept whole or not at all. */
async function keep(cluster: string, path: string): Promise<void> {
  const draft = await mkdtemp(join(KEPT, DRAFT_PREFIX))
  copy(cluster, draft)
  await rename(draft, path).catch(async (error: unknown) => {
    await rm(draft, { recursive: true, force: true })
    // Another run has kept the same.
    if (!(await readdir(KEPT)).includes(basename(path))) throw error
  })
}

async function versionOfPrepared(): Promise<string> {
  const hash = createHash('sha256')
  const files = globSync(MADE_OF, { cwd: ROOT })
  for (const file of files.toSorted()) hash.update(file).update(await readFile(join(ROOT, file)))
  return hash.digest('hex').slice(0, 16)
}

/** A cluster has 1,700 files, for which the asynchronous `cp` takes three times as long. */
const copy = (from: string, to: string): void =>
  cpSync(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE })

// These are the settings of the container: many files run at once, and nothing outlives the run.
const startServer = (dataDir: string): Promise<EmbeddedServer> =>
  startEmbeddedPostgres({
    dataDir,
    database: 'latchkey',
    settings: { fsync: 'off', max_connections: '400', max_wal_size: '256MB' },
  })
