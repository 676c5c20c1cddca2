import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import { createOwnFolder } from '../own-folder.ts'
import { adviseOnPostgres } from './advise-on-postgres.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import type { ServerAccount } from './server-account.ts'

const VERSION = '18'

export interface Cluster {
  /** The folder that PostgreSQL calls the data directory. */
  dataDirectory: string
  password: string
}

interface ClusterOptions {
  dataDir: string
  superuser: string
  binaries: PostgresBinaries
  account: ServerAccount
}

/** Opens the cluster in `<dataDir>/postgres`. The first time it creates it, with a new password in a file of mode 0600. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const home = join(options.dataDir, 'postgres')
  const dataDirectory = join(home, 'data')
  if (!existsSync(home)) await createCluster(home, options)

  const version = readFileSync(join(dataDirectory, 'PG_VERSION'), 'utf8').trim()
  if (version !== VERSION) {
    throw new Error(
      `${dataDirectory} was created by PostgreSQL ${version}, and this is PostgreSQL ${VERSION}. ` +
        'Dump it with the old version, or set another DATA_DIR.',
    )
  }
  options.account.adopt(home)
  return { dataDirectory, password: readFileSync(join(home, 'password'), 'utf8').trim() }
}

/** Creates the cluster and its password in a draft folder and renames it, so that it exists whole or not at all. */
async function createCluster(home: string, options: ClusterOptions): Promise<void> {
  const { dataDir, account } = options
  const draft = createOwnFolder(dataDir, 'postgres.init')
  try {
    writeFileSync(join(draft, 'password'), randomBytes(24).toString('base64url'), { mode: 0o600 })
    mkdirSync(join(draft, 'data'), { mode: 0o700 })
    account.adopt(draft)
    await runInitdb(draft, options)
    renameSync(draft, home)
  } catch (error) {
    // Of two first starts one renames its draft. The other one finds that cluster, and then that its server runs.
    if (!existsSync(home)) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

async function runInitdb(draft: string, { superuser, binaries, account }: ClusterOptions): Promise<void> {
  const args = [
    `--pgdata=${join(draft, 'data')}`,
    `--username=${superuser}`,
    `--pwfile=${join(draft, 'password')}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    // The builtin provider knows Unicode's letters, whichever locales the machine has.
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--no-instructions',
  ]
  await account.run(binaries.initdb, args).catch((cause: unknown) => {
    const said = errorMessage(cause)
    throw new Error(`PostgreSQL's initdb failed: ${adviseOnPostgres(said) ?? said}`, { cause })
  })
}
