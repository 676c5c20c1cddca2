/** What of Latchkey's secrets depends on where its servers stand; the same on one host and in a cluster. */
export interface Servers {
  engine: 'postgres' | 'mysql'
  databasePassword: string
  redisPassword: string
}

const PORTS = { postgres: 5432, mysql: 3306 }

/** The addresses of the database and the queue, whose hosts are named after their kind, as settings. */
export function connectionsTo({ engine, databasePassword, redisPassword }: Servers) {
  const database = `latchkey:${encodeURIComponent(databasePassword)}@${engine}:${PORTS[engine]}/latchkey`
  return {
    DATABASE_URL: `${engine}://${database}`,
    QUEUE_URL: `redis://:${encodeURIComponent(redisPassword)}@redis:6379`,
  }
}

/** BullMQ loses jobs when Redis evicts keys, and a restarted Redis must know every mail that it accepted. */
export const redisConfig = (password: string): string =>
  [
    `requirepass "${password}"`,
    'maxmemory-policy noeviction',
    'appendonly yes',
    'appendfsync always',
    'dir /data',
    '',
  ].join('\n')
