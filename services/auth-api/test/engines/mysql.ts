import { MySqlContainer } from '@testcontainers/mysql'
import { RedisContainer } from '@testcontainers/redis'
import { provideEngine } from '../support/engine.ts'

export default provideEngine(async () => {
  const container = await new MySqlContainer('mysql:9').withRootPassword('root').start()
  const redis = await new RedisContainer('redis:8').start()
  return {
    adminUrl: container.getConnectionUri(true),
    queueUrl: redis.getConnectionUrl(),
    stop: () => Promise.all([container.stop(), redis.stop()]),
  }
})
