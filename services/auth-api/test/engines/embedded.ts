import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { startEmbeddedPostgres } from '../../../../scripts/embedded/postgres.ts'
import { provideEngine } from '../support/engine.ts'

/** The server of `npm start`: with it the suite runs where there is no Docker. */
export default provideEngine(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'latchkey-test-'))
  const server = await startEmbeddedPostgres({ dataDir, database: 'latchkey' })
  await prepareQueue(server.url)
  return {
    adminUrl: server.url,
    queueUrl: server.url,
    async stop() {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
})
