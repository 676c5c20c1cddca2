import { postgresContainer } from '../postgres-container.ts'
import { ODD_POSTGRES } from './odd-settings.ts'
import { preparePostgres } from './prepare-postgres.ts'
import type { StartedServer } from './shared-servers.ts'

const SETTINGS = Object.entries({ fsync: 'off', max_connections: '400', ...ODD_POSTGRES })

export async function start(): Promise<StartedServer> {
  const container = await postgresContainer()
    .withTmpFs({ '/var/lib/postgresql': 'rw' })
    .withCommand(['postgres', ...SETTINGS.flatMap(([name, value]) => ['-c', `${name}=${value}`])])
    .start()
  const url = container.getConnectionUri()
  await preparePostgres(url)
  return { url, stop: () => container.stop() }
}
