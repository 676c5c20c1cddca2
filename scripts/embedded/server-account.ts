import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { chmodSync, chownSync, lchownSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { PostgresBinaries } from './postgres-binaries.ts'

/** Whom the server runs as: this process's own user, or, as PostgreSQL refuses uid 0, somebody else under root. */
export interface ServerAccount {
  spawn(command: string, args: string[], options?: SpawnOptions): ChildProcess
  /** Gives a file or a folder with all it holds to the account. */
  adopt(path: string): void
}

interface Ids {
  uid: number
  gid: number
}

/** Throws, naming DATA_DIR, when no account can reach both the binaries and the data folder. */
export async function chooseServerAccount(
  dataDir: string,
  binaries: PostgresBinaries,
): Promise<ServerAccount> {
  const owner = findOwner(join(dataDir, 'postgres'))
  const me = process.getuid?.()
  if (me !== 0) {
    if (owner && me !== undefined && owner.uid !== me) {
      throw new Error(
        `The data folder ${dataDir} (DATA_DIR) was made under root or another user: its database belongs to uid ` +
          `${owner.uid}, and this is uid ${me}. Start as that user, or set another DATA_DIR.`,
      )
    }
    return { spawn: start, adopt: () => {} }
  }

  // Whoever owns a cluster keeps it: nothing has to change hands when the list of users does.
  const ids = owner && owner.uid !== 0 ? owner : findUnprivilegedUser()
  const adopt = (path: string) => giveAway(path, ids, dataDir)
  const plain: ServerAccount = {
    adopt,
    spawn: (command, args, options) => start(command, args, { ...options, ...ids }),
  }
  const refusal = await findObstacle(plain, dataDir, binaries)
  if (refusal === undefined) return plain

  for (const capability of ['dac_read_search', 'dac_override']) {
    const prefix = setprivArguments(ids, capability)
    const capable: ServerAccount = {
      adopt,
      spawn: (command, args, options) => start('setpriv', [...prefix, command, ...args], options),
    }
    if ((await findObstacle(capable, dataDir, binaries)) === undefined) return capable
  }
  throw new Error(
    `PostgreSQL does not run as root, and uid ${ids.uid} cannot reach ${dataDir} (DATA_DIR) or ${binaries.postgres}: ` +
      `${refusal}. Set DATA_DIR to a folder, and use a checkout, that other users may enter, or start as a normal user.`,
  )
}

/**
 * A folder that only root may enter (/root) is entered by one capability, and nothing else of root's.
 * no_setuid_fixup: without it access(2), which initdb asks, ignores the capabilities of a user other than root.
 */
const setprivArguments = ({ uid, gid }: Ids, capability: string): string[] => [
  `--reuid=${uid}`,
  `--regid=${gid}`,
  '--clear-groups',
  '--securebits=+no_setuid_fixup',
  `--inh-caps=+${capability}`,
  `--ambient-caps=+${capability}`,
]

/** Only what the server needs: the launcher's environment holds secrets and may hold PG… variables that mislead it. */
function start(command: string, args: string[], options: SpawnOptions = {}): ChildProcess {
  const { PATH, SystemRoot } = process.env
  return spawn(command, args, { cwd: '/', ...options, env: { PATH, SystemRoot, LC_ALL: 'C' } })
}

/** Tries it, because modes alone do not tell: there are ACLs, mounts and containers. Undefined when all is well. */
function findObstacle(
  account: ServerAccount,
  dataDir: string,
  { postgres, catalog }: PostgresBinaries,
): Promise<string | undefined> {
  const attempt = '"$1" --version >/dev/null && test -r "$2" && cd "$3"'
  const child = account.spawn('/bin/sh', ['-c', attempt, 'sh', postgres, catalog, dataDir], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr?.on('data', (chunk) => {
    said += chunk
  })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code) => resolve(code === 0 ? undefined : said.trim() || 'permission denied'))
  })
}

function findOwner(path: string): Ids | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && { uid: stats.uid, gid: stats.gid }
}

/** `postgres`, or else `nobody`, which every system has; a name is needed because initdb looks it up. */
function findUnprivilegedUser(): Ids {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const name of ['postgres', 'nobody']) {
    const user = users.find((fields) => fields[0] === name)
    const ids = { uid: Number(user?.[2]), gid: Number(user?.[3]) }
    if (ids.uid > 0 && ids.gid >= 0) return ids
  }
  throw new Error('PostgreSQL does not run as root, and there is no user "postgres" or "nobody" to run it as')
}

function giveAway(path: string, { uid, gid }: Ids, dataDir: string): void {
  try {
    const stats = statSync(path)
    // Only root's: a folder that already belongs to the account is not walked again at every start.
    if (stats.uid === uid) return
    if (stats.isDirectory()) {
      for (const entry of readdirSync(path, { recursive: true, encoding: 'utf8' })) {
        lchownSync(join(path, entry), uid, gid)
      }
      chmodSync(path, 0o700)
    }
    chownSync(path, uid, gid)
  } catch (cause) {
    throw new Error(
      `PostgreSQL does not run as root, and ${path} cannot be given to uid ${uid}: ` +
        `${cause instanceof Error ? cause.message : cause}. Start as a normal user, or move ${dataDir} (DATA_DIR).`,
      { cause },
    )
  }
}
