import { PostgreSqlContainer } from '@testcontainers/postgresql'
import { Wait } from 'testcontainers'

const NEVER_MS = 86_400_000

/**
 * A postgres:18 to be started. The library has the engine look at its health four times a second for as long as it runs;
 * here the server's own word counts: the second one, as the first comes from the server that sets the database up.
 */
export const postgresContainer = (): PostgreSqlContainer =>
  new PostgreSqlContainer('postgres:18')
    .withHealthCheck({ test: ['CMD', 'true'], interval: NEVER_MS })
    .withWaitStrategy(
      Wait.forAll([Wait.forLogMessage(/ready to accept connections/, 2), Wait.forListeningPorts()]),
    )
