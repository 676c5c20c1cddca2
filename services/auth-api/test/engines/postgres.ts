import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { PostgreSqlContainer } from '@testcontainers/postgresql'
import { provideEngine } from '../support/engine.ts'

export default provideEngine(async () => {
  const container = await new PostgreSqlContainer('postgres:18').start()
  const adminUrl = container.getConnectionUri()
  await prepareQueue(adminUrl)
  return { adminUrl, queueUrl: adminUrl, stop: () => container.stop() }
})
