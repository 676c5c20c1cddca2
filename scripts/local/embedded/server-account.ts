import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { chmodSync, chownSync, lchownSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '@latchkey/shared/error-message.ts'
import { endOf } from './end-of.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'

/** The user that PostgreSQL runs as: this process's own, or another one under root, because PostgreSQL refuses uid 0. */
export interface ServerAccount {
  spawn(command: string, args: string[], options?: SpawnOptions): ChildProcess
  /** Makes the account the owner of a file, or of a folder with everything in it. */
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

  // An existing cluster keeps its owner, even if another user would be chosen today.
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
 * One capability enters a folder that only root may enter (/root); the account gets no other right of root.
 * no_setuid_fixup: without it access(2), which initdb calls, ignores the capabilities of users other than root.
 */
const setprivArguments = ({ uid, gid }: Ids, capability: string): string[] => [
  `--reuid=${uid}`,
  `--regid=${gid}`,
  '--clear-groups',
  '--securebits=+no_setuid_fixup',
  `--inh-caps=+${capability}`,
  `--ambient-caps=+${capability}`,
]

/** Passes on only what PostgreSQL needs: the launcher's environment contains secrets, and perhaps PG… variables. */
function start(command: string, args: string[], options: SpawnOptions = {}): ChildProcess {
  const { PATH, SystemRoot } = process.env
  return spawn(command, args, { cwd: '/', ...options, env: { PATH, SystemRoot, LC_ALL: 'C' } })
}

/** Tries, because file modes are not all: there are ACLs, mounts and containers. Undefined when nothing is in the way. */
async function findObstacle(
  account: ServerAccount,
  dataDir: string,
  { postgres, catalog }: PostgresBinaries,
): Promise<string | undefined> {
  const attempt = '"$1" --version >/dev/null && : <"$2" && cd "$3"'
  const child = account.spawn('/bin/sh', ['-c', attempt, 'sh', postgres, catalog, dataDir], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const { failure, stderr } = await endOf(child)
  return failure && (stderr.trim() || failure)
}

function findOwner(path: string): Ids | undefined {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats && { uid: stats.uid, gid: stats.gid }
}

/** `postgres`, or `nobody`, which every system has. initdb looks up the name, so a bare uid is not enough. */
function findUnprivilegedUser(): Ids {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  for (const name of ['postgres', 'nobody']) {
    const user = users.find((fields) => fields[0] === name)
    const ids = { uid: Number(user?.[2]), gid: Number(user?.[3]) }
    if (ids.uid > 0 && ids.gid >= 0) return ids
  }
  throw new Error('PostgreSQL does not run as root, and the users "postgres" and "nobody" do not exist')
}

function giveAway(path: string, { uid, gid }: Ids, dataDir: string): void {
  try {
    const stats = statSync(path)
    // A folder that already belongs to the account is not walked at every start.
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
        `${errorMessage(cause)}. Start as a normal user, or move ${dataDir} (DATA_DIR).`,
      { cause },
    )
  }
}
