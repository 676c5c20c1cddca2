import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CliError, EXIT, errorCode } from '../../io/cli-error.ts'

export interface Account {
  uid: number
  gid: number
}

/**
 * Finds an account of the host whose files are below `root`, with its own group or another; throws exit code 3 where there
 * is none.
 */
export async function findAccount(
  { user, group }: { user: string; group: string | undefined },
  root: string,
): Promise<Account> {
  const [uid, gid] = await findEntry('passwd', user, root)
  const [other] = group === undefined ? [gid] : await findEntry('group', group, root)
  return { uid: Number(uid), gid: Number(other) }
}

/** The fields after the name and the password: the id, and for an account the id of its group. */
async function findEntry(database: 'passwd' | 'group', name: string, root: string): Promise<string[]> {
  // getent also asks services such as LDAP, but only those of this host.
  const entries =
    root === '/' ? await askSystem(database, name) : await readFile(join(root, 'etc', database), 'utf8')
  const found = entries
    .split('\n')
    .map((line) => line.split(':'))
    .find(([entry]) => entry === name)
  if (found) return found.slice(2)
  const kind = database === 'group' ? 'Group' : 'User'
  throw new CliError(`${kind} ${name} does not exist: create it, or name another`, EXIT.notFound)
}

async function askSystem(database: string, name: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)('getent', [database, name])
    return stdout
  } catch (error) {
    // 2: no such entry
    if (errorCode(error) === 2) return ''
    throw error
  }
}
