import { MySqlContainer } from '@testcontainers/mysql'
import type { StartedServer } from './shared-servers.ts'

/** Nothing here outlives a run, so nothing waits for a disk. */
const VOLATILE = ['--skip-log-bin', '--innodb-flush-log-at-trx-commit=0', '--innodb-doublewrite=OFF']

export async function start(): Promise<StartedServer> {
  const container = await new MySqlContainer('mysql:9')
    .withRootPassword('root')
    .withTmpFs({ '/var/lib/mysql': 'rw' })
    .withCommand(VOLATILE)
    .start()
  return { url: container.getConnectionUri(true), stop: () => container.stop() }
}
