import { RedisContainer } from '@testcontainers/redis'
import type { StartedServer } from './shared-servers.ts'

export async function start(): Promise<StartedServer> {
  const container = await new RedisContainer('redis:8').start()
  return { url: container.getConnectionUrl(), stop: () => container.stop() }
}
