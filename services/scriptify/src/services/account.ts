import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'

export interface Account {
  uid: number
  gid: number
}

/** Finds an account of the system whose files lie below `root`; throws exit code 3 when there is none. */
export async function findAccount(name: string, root: string): Promise<Account> {
  // getent also asks LDAP and its like, for this system only.
  const entries = root === '/' ? await askSystem(name) : await readFile(join(root, 'etc/passwd'), 'utf8')
  const [, , uid, gid] =
    entries
      .split('\n')
      .map((line) => line.split(':'))
      .find(([account]) => account === name) ?? []
  if (uid === undefined || gid === undefined) {
    throw new CliError(`There is no user ${name}`, EXIT.notFound)
  }
  return { uid: Number(uid), gid: Number(gid) }
}

async function askSystem(name: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('getent', ['passwd', name])
    return stdout
  } catch (error) {
    // 2: no such entry
    if (error instanceof Error && 'code' in error && error.code === 2) return ''
    throw error
  }
}
