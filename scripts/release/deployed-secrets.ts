/** What the secrets of a deployment depend on, with Docker Compose and on Kubernetes alike. */
export interface Servers {
  engine: 'postgres' | 'mysql'
  databasePassword: string
  redisPassword: string
}

const PORTS = { postgres: 5432, mysql: 3306 }

/** The settings DATABASE_URL and QUEUE_URL. Both servers have the name of their kind as host name. */
export function connectionsTo({ engine, databasePassword, redisPassword }: Servers) {
  const database = `latchkey:${encodeURIComponent(databasePassword)}@${engine}:${PORTS[engine]}/latchkey`
  return {
    DATABASE_URL: `${engine}://${database}`,
    QUEUE_URL: `redis://:${encodeURIComponent(redisPassword)}@redis:6379`,
  }
}

/** `noeviction`, because BullMQ loses jobs with evicted keys; `always`, so that a restart loses no accepted mail. */
export const redisConfig = (password: string): string =>
  [
    `requirepass "${password}"`,
    'maxmemory-policy noeviction',
    'appendonly yes',
    'appendfsync always',
    'dir /data',
    '',
  ].join('\n')
