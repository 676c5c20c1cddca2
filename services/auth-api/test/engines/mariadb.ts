import { MariaDbContainer } from '@testcontainers/mariadb'
import { provideEngine } from '../support/engine.ts'

export default provideEngine(async () => {
  const container = await new MariaDbContainer('mariadb:11.8').withRootPassword('root').start()
  return { adminUrl: container.getConnectionUri(true), stop: () => container.stop() }
})
