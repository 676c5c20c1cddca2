import { RedisContainer } from '@testcontainers/redis'
import { STARTUP_TIMEOUT_MS } from '../startup-timeout.ts'
import type { StartedServer } from './shared-servers.ts'

export async function start(): Promise<StartedServer> {
  const container = await new RedisContainer('redis:8').withStartupTimeout(STARTUP_TIMEOUT_MS).start()
  return { url: container.getConnectionUrl(), stop: () => container.stop() }
}
