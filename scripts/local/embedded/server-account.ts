import { type ChildProcessByStdio, execFile, execFileSync, spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { promisify } from 'node:util'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'

/** The user that PostgreSQL runs as: this process's own, or another one under root, because PostgreSQL refuses uid 0. */
export interface ServerAccount {
  /** Starts a command in its own session, with pipes to its stdin and from its stderr. */
  spawn(command: string, args: string[]): ChildProcessByStdio<Writable, null, Readable>
  /** Resolves when the command has succeeded; rejects with what it wrote to stderr. */
  run(command: string, args: string[]): Promise<void>
  /** Makes the account the owner of a folder with everything in it. */
  adopt(folder: string): void
}

interface Ids {
  uid: number
  gid: number
}

/** Throws, naming DATA_DIR, when no account can reach both the binaries and the data folder. */
export async function chooseServerAccount(
  dataDir: string,
  { postgres }: PostgresBinaries,
): Promise<ServerAccount> {
  const owner = statSync(join(dataDir, 'postgres'), { throwIfNoEntry: false })
  const me = process.getuid?.()
  if (me !== 0) {
    if (!owner || owner.uid === me) return accountOf([])
    throw new Error(
      `The database in ${dataDir} (DATA_DIR) belongs to uid ${owner.uid}, and this is uid ${me}. ` +
        'Start as that user, or set another DATA_DIR.',
    )
  }
  // An existing cluster keeps its owner, even if another user would be chosen today.
  const ids = owner && owner.uid !== 0 ? owner : findUnprivilegedUser()
  let refusal: unknown
  // A capability enters a folder that only root may enter, such as /root; the user gets no other right of root.
  for (const capability of ['', '+dac_read_search', '+dac_override']) {
    const account = accountOf(['setpriv', ...setprivOptions(ids, capability)], ids)
    try {
      await account.run('/bin/sh', ['-c', '"$1" --version >/dev/null && cd "$2"', 'sh', postgres, dataDir])
      return account
    } catch (error) {
      refusal ??= error
    }
  }
  const reason = errorMessage(refusal)
  if (reason.includes('ENOENT'))
    throw new Error(
      'PostgreSQL does not run as root, and setpriv, which changes the user, is missing: install util-linux, or start as a normal user',
    )
  if (reason.includes('Operation not permitted'))
    throw new Error(
      `PostgreSQL does not run as root, and this process may not change its user (${reason}): start as a normal user, or set DATABASE_URL`,
    )
  throw new Error(
    `PostgreSQL does not run as root, and uid ${ids.uid} cannot reach ${dataDir} (DATA_DIR) or ${postgres}: ` +
      `${reason}. Set DATA_DIR to a folder, and use a checkout, that other users may enter, or start as a normal user.`,
  )
}

/** no_setuid_fixup: without it access(2), which initdb calls, ignores the capabilities of users other than root. */
function setprivOptions({ uid, gid }: Ids, capability: string): string[] {
  const user = [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups']
  if (!capability) return user
  return [
    ...user,
    '--securebits=+no_setuid_fixup',
    `--inh-caps=${capability}`,
    `--ambient-caps=${capability}`,
  ]
}

/** Runs commands with `prefix` before them, as the user with `ids`, by default that of this process. */
function accountOf(prefix: string[], ids?: Ids): ServerAccount {
  // Only what PostgreSQL needs: the launcher's environment contains secrets, and perhaps PG… variables.
  const options = { cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C' } }
  return {
    spawn(command, args) {
      const [file = '', ...all] = [...prefix, command, ...args]
      return spawn(file, all, { ...options, detached: true, stdio: ['pipe', 'ignore', 'pipe'] })
    },
    async run(command, args) {
      const [file = '', ...all] = [...prefix, command, ...args]
      await promisify(execFile)(file, all, options)
    },
    adopt(folder) {
      if (ids === undefined || statSync(folder).uid === ids.uid) return
      execFileSync('chown', ['-R', '-h', `${ids.uid}:${ids.gid}`, folder])
    },
  }
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
  throw new Error(
    'PostgreSQL does not run as root, and the users "postgres" and "nobody" do not exist: start as a normal user, or set DATABASE_URL',
  )
}
