import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { mysqlContainer } from '../mysql-container.ts'
import { setOddMysql } from './odd-settings.ts'
import type { StartedServer } from './shared-servers.ts'

export async function start(): Promise<StartedServer> {
  const container = await mysqlContainer().start()
  const url = container.getConnectionUri(true)
  await withDatabase(url, (db) => db.runScript(setOddMysql()))
  return { url, stop: () => container.stop() }
}
