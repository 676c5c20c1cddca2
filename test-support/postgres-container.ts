import { PostgreSqlContainer } from '@testcontainers/postgresql'
import { Wait } from 'testcontainers'
import { STARTUP_TIMEOUT_MS } from './startup-timeout.ts'

const NEVER_MS = 86_400_000

/**
 * A postgres:18 to be started. It is ready at the second line of its log that says so: the first one is of the server that
 * initializes the database. The library's health check, four times a second until the end, is off.
 */
export const postgresContainer = (): PostgreSqlContainer =>
  new PostgreSqlContainer('postgres:18')
    .withStartupTimeout(STARTUP_TIMEOUT_MS)
    .withHealthCheck({ test: ['CMD', 'true'], interval: NEVER_MS })
    .withWaitStrategy(
      Wait.forAll([Wait.forLogMessage(/ready to accept connections/, 2), Wait.forListeningPorts()]),
    )
