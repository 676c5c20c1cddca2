import { mysqlContainer } from '../support/mysql-container.ts'
import type { StartedServer } from './shared-servers.ts'

export async function start(): Promise<StartedServer> {
  const container = await mysqlContainer().start()
  return { url: container.getConnectionUri(true), stop: () => container.stop() }
}
