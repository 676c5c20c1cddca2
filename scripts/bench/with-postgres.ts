import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '../local/embedded/postgres.ts'

/** Runs `work` with an empty PostgreSQL, and removes it afterwards. */
export async function withPostgres(work: (databaseUrl: string) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'latchkey-bench-'))
  const postgres = await startEmbeddedPostgres({ dataDir, database: 'latchkey' })
  try {
    await work(postgres.url)
  } finally {
    await postgres.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}
