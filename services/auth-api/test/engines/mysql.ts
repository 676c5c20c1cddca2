import { MySqlContainer } from '@testcontainers/mysql'
import { provideEngine } from '../support/engine.ts'

export default provideEngine(async () => {
  const container = await new MySqlContainer('mysql:9').withRootPassword('root').start()
  return { adminUrl: container.getConnectionUri(true), stop: () => container.stop() }
})
