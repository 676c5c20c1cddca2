import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { postgresContainer } from '../../../test/support/postgres-container.ts'
import { provideEngine } from '../support/engine.ts'

export default provideEngine(async () => {
  const container = await postgresContainer().start()
  const adminUrl = container.getConnectionUri()
  await prepareQueue(adminUrl)
  return { adminUrl, queueUrl: adminUrl, stop: () => container.stop() }
})
