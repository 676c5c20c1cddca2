import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../../../scripts/embedded/postgres.ts'
import { preparePostgres } from './postgres.ts'
import type { StartedServer } from './shared-servers.ts'

/** The server of `npm start`; with it the suites run without Docker. */
export async function start(): Promise<StartedServer> {
  const dataDir = await mkdtemp(join(tmpdir(), 'latchkey-test-'))
  // As the container has it: many files at once, and nothing that outlives the run.
  const settings = { fsync: 'off', max_connections: '400' }
  const server = await startEmbeddedPostgres({ dataDir, database: 'latchkey', settings })
  await preparePostgres(server.url)
  return {
    url: server.url,
    async stop() {
      await server.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}
