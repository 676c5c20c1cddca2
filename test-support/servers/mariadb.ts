import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { MariaDbContainer } from '@testcontainers/mariadb'
import { STARTUP_TIMEOUT_MS } from '../startup-timeout.ts'
import { setOddMysql } from './odd-settings.ts'
import type { StartedServer } from './shared-servers.ts'

export async function start(): Promise<StartedServer> {
  const container = await new MariaDbContainer('mariadb:11.8')
    .withRootPassword('root')
    .withStartupTimeout(STARTUP_TIMEOUT_MS)
    .withTmpFs({ '/var/lib/mysql': 'rw' })
    .withCommand(['--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=0'])
    .start()
  const url = container.getConnectionUri(true)
  await withDatabase(url, (db) => db.runScript(setOddMysql()))
  return { url, stop: () => container.stop() }
}
