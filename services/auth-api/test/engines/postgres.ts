import { PostgreSqlContainer } from '@testcontainers/postgresql'
import { provideEngine } from '../support/engine.ts'

export default provideEngine(async () => {
  const container = await new PostgreSqlContainer('postgres:18').start()
  return { adminUrl: container.getConnectionUri(), stop: () => container.stop() }
})
