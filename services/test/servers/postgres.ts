import { postgresContainer } from '../support/postgres-container.ts'
import { preparePostgres } from './prepare-postgres.ts'
import type { StartedServer } from './shared-servers.ts'

export async function start(): Promise<StartedServer> {
  const container = await postgresContainer()
    .withTmpFs({ '/var/lib/postgresql': 'rw' })
    .withCommand(['postgres', ...setting('fsync', 'off'), ...setting('max_connections', '400')])
    .start()
  const url = container.getConnectionUri()
  await preparePostgres(url)
  return { url, stop: () => container.stop() }
}

const setting = (name: string, value: string): string[] => ['-c', `${name}=${value}`]
