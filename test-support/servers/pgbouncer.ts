import { startPgbouncer, throughPgbouncer } from '../pgbouncer-container.ts'
import type { FindServer, StartedServer } from './shared-servers.ts'

/** PgBouncer in front of the shared PostgreSQL. */
export async function start(find: FindServer): Promise<StartedServer> {
  const { url } = await find('postgres')
  const container = await startPgbouncer(new URL(url))
  return { url: throughPgbouncer(url, container), stop: () => container.stop() }
}
