import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { acquireLauncherLock } from './launcher-lock.ts'
import { stopLeftoverServer } from './leftover-server.ts'
import { findPostgresBinaries } from './postgres-binaries.ts'
import { chooseServerAccount } from './server-account.ts'

const DEFAULT_ENVIRONMENT = 'dev'

/**
 * Moves the cluster that an earlier release kept for all environments, in the parent of `dataDir`, to the environment
 * dev. Throws with the commands to run for any other environment, because nobody knows which one its users belong to.
 */
export async function adoptEarlierData(dataDir: string): Promise<void> {
  const [root, environment] = [dirname(dataDir), basename(dataDir)]
  const [earlier, home] = [join(root, 'postgres'), join(dataDir, 'postgres')]
  if (!existsSync(join(earlier, 'data', 'PG_VERSION'))) return
  if (environment !== DEFAULT_ENVIRONMENT || existsSync(home)) {
    throw new Error(describeChoice({ root, environment, earlier, isFree: !existsSync(home) }))
  }
  const lock = await acquireLauncherLock(root)
  try {
    const account = await chooseServerAccount(root, await findPostgresBinaries())
    await stopLeftoverServer({ dataDirectory: join(earlier, 'data'), account, log: () => undefined })
    mkdirSync(dataDir, { recursive: true })
    renameSync(earlier, home)
    rmSync(join(root, 'environment'), { force: true })
  } finally {
    lock.release()
  }
  process.stdout.write(`Moved the database of an earlier release from ${earlier} to ${home}\n`)
}

interface Found {
  root: string
  environment: string
  earlier: string
  isFree: boolean
}

function describeChoice({ root, environment, earlier, isFree }: Found): string {
  const found = `${earlier} is the database of an earlier release, which all environments shared.`
  if (!isFree) {
    return `${found} ${environment} has a database of its own by now: move the earlier one out of ${root}.`
  }
  return [
    found,
    `  to use it in ${environment}:  mkdir -p '${join(root, environment)}' && mv '${earlier}' '${join(root, environment)}/'`,
    `  to use it in dev:  mkdir -p '${join(root, 'dev')}' && mv '${earlier}' '${join(root, 'dev')}/'`,
    'Its demo users have a published password, with which no environment but dev and test starts.',
  ].join('\n')
}
