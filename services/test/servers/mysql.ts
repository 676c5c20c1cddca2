import { mysqlContainer } from '../support/mysql-container.ts'
import type { StartedServer } from './shared-servers.ts'
import { STARTUP_TIMEOUT_MS } from './startup-timeout.ts'

export async function start(): Promise<StartedServer> {
  const container = await mysqlContainer().withStartupTimeout(STARTUP_TIMEOUT_MS).start()
  return { url: container.getConnectionUri(true), stop: () => container.stop() }
}
