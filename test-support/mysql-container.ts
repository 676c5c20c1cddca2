import { MySqlContainer } from '@testcontainers/mysql'
import { STARTUP_TIMEOUT_MS } from './startup-timeout.ts'

/** Options that do not wait for a disk, because no data outlives a run. */
const VOLATILE = ['--skip-log-bin', '--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=OFF']

/** A mysql:9 to be started. Its data are in memory: a stop loses them. */
export const mysqlContainer = (): MySqlContainer =>
  new MySqlContainer('mysql:9')
    .withRootPassword('root')
    .withStartupTimeout(STARTUP_TIMEOUT_MS)
    .withTmpFs({ '/var/lib/mysql': 'rw' })
    .withCommand(VOLATILE)
