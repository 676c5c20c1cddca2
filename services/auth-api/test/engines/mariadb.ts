import { MariaDbContainer } from '@testcontainers/mariadb'
import { RedisContainer } from '@testcontainers/redis'
import { provideEngine } from '../support/engine.ts'

export default provideEngine(async () => {
  const container = await new MariaDbContainer('mariadb:11.8').withRootPassword('root').start()
  const redis = await new RedisContainer('redis:8').start()
  return {
    adminUrl: container.getConnectionUri(true),
    queueUrl: redis.getConnectionUrl(),
    stop: () => Promise.all([container.stop(), redis.stop()]),
  }
})
