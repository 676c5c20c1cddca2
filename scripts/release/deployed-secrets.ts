import { randomBytes } from 'node:crypto'

export type Engine = 'postgres' | 'mysql'

const PORTS = { postgres: 5432, mysql: 3306 }

/** The owner of the tables, who creates the other logins: the administrator of a server that is only for Latchkey. */
export const OWNERS = { postgres: 'latchkey', mysql: 'root' }

/**
 * A login for a service: user and password, separated by a colon. Its name is new each time, so that it works beside the one
 * that it replaces.
 */
export const generateLogin = (service: 'auth_api' | 'mailer_worker'): string =>
  `latchkey_${service}_${randomBytes(3).toString('hex')}:${randomBytes(24).toString('hex')}`

/** The setting DATABASE_URL. Both servers have the name of their kind as host name. */
export function databaseUrl(engine: Engine, login: string): string {
  const [user, password = ''] = login.split(/:(.*)/s)
  return `${engine}://${user}:${encodeURIComponent(password)}@${engine}:${PORTS[engine]}/latchkey`
}

/** The setting QUEUE_URL. */
export const queueUrl = (password: string): string => `redis://:${encodeURIComponent(password)}@redis:6379`

/** `noeviction`, because BullMQ loses jobs with evicted keys; `always`, so that a restart loses no accepted mail. */
export const redisConfig = (password: string): string =>
  [
    `requirepass "${password}"`,
    // Below the limit of the container: a server that is full refuses writes, and one that exceeds the limit is killed.
    'maxmemory 192mb',
    'maxmemory-policy noeviction',
    // The append-only file has everything.
    'save ""',
    'appendonly yes',
    'appendfsync always',
    'dir /data',
    '',
  ].join('\n')
