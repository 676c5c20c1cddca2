import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { endOf } from './end-of.ts'
import { createLastLines, readLines } from './last-lines.ts'
import { stopLeftoverServer } from './leftover-server.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import type { ServerAccount } from './server-account.ts'

const VERSION = '18'
const DRAFT_PREFIX = 'postgres.init-'

export interface Cluster {
  /** What PostgreSQL calls the data directory. */
  dataDirectory: string
  password: string
}

interface ClusterOptions {
  dataDir: string
  superuser: string
  binaries: PostgresBinaries
  account: ServerAccount
  log: (line: string) => void
}

/** Opens the cluster in `<dataDir>/postgres`. The first time it creates it, with a new password in a file of mode 0600. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { dataDir, account } = options
  const home = join(dataDir, 'postgres')
  const dataDirectory = join(home, 'data')
  await removeDrafts(options)
  if (!existsSync(join(dataDirectory, 'PG_VERSION'))) await createCluster(home, options)

  const version = readFileSync(join(dataDirectory, 'PG_VERSION'), 'utf8').trim()
  if (version !== VERSION) {
    throw new Error(
      `${dataDirectory} was created by PostgreSQL ${version}, and this is PostgreSQL ${VERSION}. ` +
        'Dump it with the old version, or set another DATA_DIR.',
    )
  }
  account.adopt(home)
  return { dataDirectory, password: readPassword(home) }
}

/** Removes what a kill -9 during initdb left. That initdb may still run; no server ever used its files. */
async function removeDrafts({ dataDir, account, log }: ClusterOptions): Promise<void> {
  for (const name of readdirSync(dataDir).filter((entry) => entry.startsWith(DRAFT_PREFIX))) {
    const draft = join(dataDir, name)
    await stopLeftoverServer({ dataDirectory: join(draft, 'data'), account, log })
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Creates the cluster and its password in a draft folder and renames it, so that it exists whole or not at all. */
async function createCluster(home: string, options: ClusterOptions): Promise<void> {
  const { dataDir, account } = options
  const draft = mkdtempSync(join(dataDir, DRAFT_PREFIX))
  try {
    const passwordFile = join(draft, 'password')
    writeFileSync(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600 })
    mkdirSync(join(draft, 'data'), { mode: 0o700 })
    account.adopt(draft)
    await runInitdb(join(draft, 'data'), passwordFile, options)
    renameSync(draft, home)
    syncFolder(dataDir)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    throw error
  }
}

async function runInitdb(
  dataDirectory: string,
  passwordFile: string,
  options: ClusterOptions,
): Promise<void> {
  const child = options.account.spawn(
    options.binaries.initdb,
    [
      `--pgdata=${dataDirectory}`,
      `--username=${options.superuser}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The builtin provider knows Unicode's letters, whichever locales the machine has.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-instructions',
    ],
    // Its working directory is where the next start finds it, if this one is killed.
    { cwd: dataDirectory, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const lastLines = createLastLines()
  readLines(child.stderr, (line) => {
    lastLines.add(line)
    options.log(line)
  })
  const { failure } = await endOf(child)
  if (failure)
    throw new Error(`PostgreSQL's initdb failed in ${dataDirectory}: ${failure}${lastLines.quote()}`)
}

function readPassword(home: string): string {
  const path = join(home, 'password')
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new Error(`The password of the embedded PostgreSQL cannot be read from ${path}`, { cause })
  }
}

/** Makes a rename in the folder survive a power cut. */
function syncFolder(path: string): void {
  if (process.platform === 'win32') return
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
