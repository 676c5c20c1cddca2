import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { prepareQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from 'testcontainers'
import { findFreePort } from './free-port.ts'
import { mysqlContainer } from './mysql-container.ts'
import { postgresContainer } from './postgres-container.ts'
import { migrate } from './servers/migrated-template.ts'

export const COMBINATIONS = [
  'PostgreSQL + Redis',
  'PostgreSQL + Valkey',
  'MySQL + Redis',
  'PostgreSQL only',
] as const
export type Combination = (typeof COMBINATIONS)[number]

declare module 'vitest' {
  interface ProvidedContext {
    /** The combinations that a project runs the mail suites on. */
    combinations: Combination[]
  }
}

export interface Servers {
  databaseUrl: string
  queueUrl: string
  /** Everything that is stored anywhere, as text. */
  dump(): Promise<string>
  /** Makes Redis forget everything. */
  flushQueue(): Promise<void>
  /** Runs a command of Redis. */
  inQueue(...command: string[]): Promise<string>
  /** Stops the queue's server, runs `during`, starts the server again at the same address. */
  withoutQueue(during: () => Promise<void>): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts the servers of one combination, migrated. Their ports outlast a restart. */
export async function startServers(combination: Combination): Promise<Servers> {
  const database = combination.startsWith('MySQL') ? await startMysql() : await startPostgres()
  const redis = await startRedis(combination)
  const db = await openDatabase(database.url, { poolSize: 1 })
  const queueUrl = redis?.url ?? database.url
  await prepareQueue(queueUrl)
  await migrate({ db, url: database.url })
  // A cluster's server of the queue is found by it.
  await db.runScript("update latchkey_installation set id = 'test'")
  await db.close()
  const queueServer = (redis ?? database).container
  return {
    databaseUrl: database.url,
    queueUrl,
    async dump() {
      const texts = [await run(database.container, database.dumpCommand)]
      if (redis) {
        // Every command ever, in clear: more than what is stored now.
        texts.push(await run(redis.container, ['sh', '-c', 'cat /data/appendonlydir/*.aof']))
      }
      return texts.join('\n')
    },
    async flushQueue() {
      if (redis) await run(redis.container, [redis.cli, 'flushall'])
    },
    async inQueue(...command) {
      if (!redis) throw new Error(`${combination} has no Redis`)
      return run(redis.container, [redis.cli, ...command])
    },
    async withoutQueue(during) {
      const { container: engine } = await getContainerRuntimeClient()
      const container = engine.getById(queueServer.getId())
      await container.stop({ t: 5 })
      try {
        await during()
      } finally {
        await container.start()
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([database.container.stop(), redis?.container.stop()])
    },
  }
}

async function run(container: StartedTestContainer, command: string[]): Promise<string> {
  const { output, exitCode } = await container.exec(command)
  if (exitCode !== 0) throw new Error(`${command[0]} ended with ${exitCode}: ${output.slice(0, 500)}`)
  return output
}

async function startPostgres() {
  const port = await findFreePort()
  const container = await postgresContainer().withExposedPorts({ container: 5432, host: port }).start()
  const credentials = `${container.getUsername()}:${container.getPassword()}`
  return {
    container,
    url: `postgres://${credentials}@127.0.0.1:${port}/${container.getDatabase()}`,
    dumpCommand: ['pg_dump', '-U', container.getUsername(), container.getDatabase()],
  }
}

async function startMysql() {
  const container = await mysqlContainer().start()
  const dump = `mysqldump -uroot -p${container.getRootPassword()} --all-databases --hex-blob=0 || mysql -uroot -p${container.getRootPassword()} -e 'select * from mail_outbox; select * from password_reset' ${container.getDatabase()}`
  return { container, url: container.getConnectionUri(true), dumpCommand: ['sh', '-c', dump] }
}

async function startRedis(combination: Combination) {
  if (combination === 'PostgreSQL only') return undefined
  const [image, program] = combination.endsWith('Valkey')
    ? ['valkey/valkey:9', 'valkey']
    : ['redis:8', 'redis']
  const port = await findFreePort()
  const container = await new GenericContainer(image)
    .withExposedPorts({ container: 6379, host: port })
    .withCommand([
      `${program}-server`,
      '--appendonly',
      'yes',
      '--auto-aof-rewrite-percentage',
      '0',
      '--maxmemory-policy',
      'noeviction',
    ])
    .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
    .start()
  return { container, cli: `${program}-cli`, url: `redis://127.0.0.1:${port}` }
}
