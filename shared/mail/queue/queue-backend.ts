import {
  createPostgresBackend,
  type PostgresConnectionOptions,
  type Processor,
  Queue,
  type QueueOptions,
  runMigrations,
  Worker,
  type WorkerOptions,
} from 'bullmq'
import pg from 'pg'
import type { Difference } from '../../database/adoption/adoption.ts'
import { serverTimeoutMs } from '../../database/database.ts'
import { readOnlyServer } from '../../database/ping.ts'
import { remedyOf } from '../../database/postgres/requirements.ts'
import { IS_READ_ONLY, isDirect, setIfDirect, withStartUp } from '../../database/postgres/start-up.ts'
import { rootReason } from '../../errors/root-reason.ts'
import { openRedis, type RedisClient, requireExpectedKind } from '../../redis/open-redis.ts'
import { MAIL_QUEUE } from './mail-job.ts'

interface ErrorEmitter {
  on(event: 'error', listener: (error: Error) => void): unknown
}
/** The part of a BullMQ queue that Latchkey uses, on either backend. */
export type BullQueue = ErrorEmitter &
  Pick<Queue, 'add' | 'getJobCounts' | 'getFailed' | 'getJob' | 'getJobs' | 'waitUntilReady' | 'close'>
/** The part of a BullMQ worker that Latchkey uses, on either backend. */
export type BullWorker = ErrorEmitter & {
  on(event: 'stalled', listener: (jobId: string) => void): unknown
} & Pick<Worker, 'run' | 'close' | 'isRunning' | 'waitUntilReady'>

/** The memory that Redis uses, and its maxmemory, in bytes; `max` is 0 where it has none. */
export interface QueueMemory {
  used: number
  max: number
  /** The maxmemory-policy by which it forgets keys once it is full; undefined where it refuses writes then. */
  eviction: string | undefined
}

export interface OpenQueue {
  queue: BullQueue
  /** Opens the queue of the release before on the same connection; the caller closes it. */
  openFormer(): BullQueue
  /** Rejects where the server is not what its URL says. */
  waitUntilReady(): Promise<unknown>
  /** Rejects where the server gives no answer or, in Redis, takes no writes: a server with a full disk still reads. */
  ping(): Promise<unknown>
  /** Reads the memory of Redis; undefined for a queue in PostgreSQL. */
  readMemory(): Promise<QueueMemory | undefined>
  /** Closes the queue and its connections. */
  close(): Promise<void>
}

export interface OpenWorker {
  worker: BullWorker
  /** Closes the worker and its connections; `force` does not wait for the jobs in flight. */
  close(force?: boolean): Promise<void>
}

const CONNECT_TIMEOUT_MS = 3_000
/** Fails a command that Redis does not answer, so that nothing waits for a server that hangs. */
const COMMAND_TIMEOUT_MS = 2_000
/**
 * A connection that does not answer within this time is closed: TCP would need a quarter of an hour to notice that
 * the server is gone. A worker's connection waits 10 s for the next job before it says anything.
 */
const SILENCE_MS = { queue: 5_000, worker: 15_000 }

/** The name that tells a queue apart from others on the server: in Redis the beginning of its keys, in PostgreSQL its name. */
export interface QueueName {
  name: string
  /** A cluster keeps on one server what has the same text in braces. */
  prefix: string
}

/** The queue that all installations on a server shared in the release before. */
export const FORMER_QUEUE: QueueName = { name: MAIL_QUEUE, prefix: '{latchkey}' }

/** It is not created where no release before was. */
const FORMER_OPTIONS = { prefix: FORMER_QUEUE.prefix, skipMetasUpdate: true }

/** The queue of an installation. */
export const nameQueue = (url: string, installation: string): QueueName =>
  isPostgres(url)
    ? { ...FORMER_QUEUE, name: `${MAIL_QUEUE}-${installation}` }
    : { ...FORMER_QUEUE, prefix: `{latchkey-${installation}}` }

const PROBE_SECONDS = 60

const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url)

/** Opens the queue on Redis or PostgreSQL, by the scheme of `url`. Fails fast while the server is unavailable. */
export function openBullQueue(
  url: string,
  { name, prefix }: QueueName,
  options: Omit<QueueOptions, 'connection'>,
  onError: (error: Error) => void,
): OpenQueue {
  if (isPostgres(url)) {
    const pool = openPool(url, { max: 3, silenceMs: SILENCE_MS.queue }, onError)
    const queue = new Queue(name, { ...options, connection: pool }, createPostgresBackend)
    return {
      queue,
      openFormer: () =>
        new Queue(FORMER_QUEUE.name, { ...FORMER_OPTIONS, connection: pool }, createPostgresBackend),
      waitUntilReady: () => queue.waitUntilReady(),
      ping: () => queue.getJobCounts('failed'),
      readMemory: async () => undefined,
      close: () => closeBoth(queue, () => pool.end()),
    }
  }
  const waits = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_MS.queue,
  }
  const redis = openRedis(url, waits, onError)
  const queue = new Queue(name, { ...options, prefix, connection: redis })
  return {
    queue,
    openFormer: () => new Queue(FORMER_QUEUE.name, { ...FORMER_OPTIONS, connection: redis }),
    async waitUntilReady() {
      await queue.waitUntilReady()
      await requireExpectedKind(redis)
    },
    ping: () => redis.set(queue.toKey('probe'), '', 'EX', PROBE_SECONDS),
    readMemory: () => readFullest(redis),
    close: () => closeBoth(queue, async () => redis.disconnect()),
  }
}

/** The memory of the server of a cluster that has the least left: counters are on all of them. */
async function readFullest(redis: RedisClient): Promise<QueueMemory> {
  const servers = 'nodes' in redis ? redis.nodes('master') : [redis]
  const memories = await Promise.all(servers.map(async (server) => parseMemory(await server.info('memory'))))
  const share = ({ used, max }: QueueMemory) => used / (max || Number.POSITIVE_INFINITY)
  return memories.reduce((fullest, each) => (share(each) > share(fullest) ? each : fullest))
}

function parseMemory(info: string): QueueMemory {
  const read = (field: string) => new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1]
  const [used, max, policy] = ['used_memory', 'maxmemory', 'maxmemory_policy'].map(read)
  const evicts = Number(max) > 0 && policy !== 'noeviction'
  return { used: Number(used), max: Number(max), eviction: evicts ? policy : undefined }
}

/** Opens a worker on Redis or PostgreSQL, by the scheme of `url`. Waits while the server is unavailable. */
export function openBullWorker<Data>(
  url: string,
  { name, prefix }: QueueName,
  processor: Processor<Data, unknown, string>,
  options: Omit<WorkerOptions, 'connection'>,
  onError: (error: Error) => void,
): OpenWorker {
  if (isPostgres(url)) {
    // One connection listens; the others take, renew and finish jobs.
    const pool = openPool(url, { max: 6, silenceMs: SILENCE_MS.worker }, onError)
    const worker = new Worker(name, processor, { ...options, connection: pool }, createPostgresBackend)
    return { worker, close: (force) => closeBoth(worker, () => pool.end(), force) }
  }
  const waits = {
    maxRetriesPerRequest: null,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SILENCE_MS.worker,
  }
  const redis = openRedis(url, waits, onError)
  const worker = new Worker(name, processor, { ...options, prefix, connection: redis })
  return { worker, close: (force) => closeBoth(worker, async () => redis.disconnect(), force) }
}

/**
 * Creates BullMQ's tables if the queue is in PostgreSQL; does nothing for Redis. One deployment step runs it, together
 * with the migrations; idempotent and locked.
 */
export const prepareQueue = (url: string): Promise<void> =>
  withDatabaseClient(url, async (client) => {
    const { rows } = await client.query(FIND_RIGHTS.text)
    await runMigrations(rows[0].has_schema ? withoutSchema(client) : client)
  })

/** Time that a change of BullMQ's tables waits for a lock, or for another migration of them. */
const LOCK_TIMEOUT_MS = 10_000

type MigrationClient = Parameters<typeof runMigrations>[0]

/** `create schema if not exists` needs the right to create schemas also where the schema exists. */
const withoutSchema = (client: MigrationClient): MigrationClient => ({
  query: (text, values) => client.query(/^create schema/i.test(text) ? 'select' : text, values),
})

/** Finds why BullMQ's tables could not be created at `url`, before anything is changed. Throws where the queue cannot be there. */
export async function findQueueFaults(url: string): Promise<Difference[]> {
  let faults: Difference[] = []
  await withDatabaseClient(url, async (client) => {
    const { rows } = await client.query(FIND_RIGHTS.text)
    faults = describeRights(rows[0])
  })
  return faults
}

/** The rights of the login of PostgreSQL on BullMQ's schema. */
export const FIND_RIGHTS = {
  name: 'queue-rights',
  text: `select current_user as role, current_database() as database, schema.oid is not null as has_schema,
      case when schema.oid is null then has_database_privilege(current_database(), 'create')
        else has_schema_privilege(schema.oid, 'usage') and has_schema_privilege(schema.oid, 'create') end as may_create,
      (select pg_get_userbyid(relowner) from pg_class where relnamespace = schema.oid and relkind in ('r', 'p')
        and not pg_has_role(relowner, 'usage') limit 1) as other_owner,
      format(case when schema.oid is null then 'create schema bullmq authorization %I;'
        else 'grant usage, create on schema bullmq to %I;' end, current_user) as remedy
    from (values (1)) as one left join pg_namespace schema on nspname = 'bullmq'`,
}

export interface QueueRights {
  role: string
  database: string
  has_schema: boolean
  may_create: boolean
  other_owner: string | null
  remedy: string
}

export function describeRights({
  role,
  database,
  has_schema,
  may_create,
  other_owner,
  remedy,
}: QueueRights): Difference[] {
  const where = `of the database ${database}, in which the queue would be (QUEUE_URL)`
  if (!may_create)
    return [
      {
        problem: has_schema
          ? `${role} may not create tables in the schema bullmq ${where}`
          : `${role} may not create the schema bullmq ${where}`,
        consequence: `${remedyOf(remedy)} Or set QUEUE_URL to Redis.`,
      },
    ]
  if (other_owner === null) return []
  const problem = `${role} may not change the tables in the schema bullmq ${where}: ${other_owner} owns them`
  return [{ problem, consequence: remedyOf(`grant "${other_owner}" to "${role}";`) }]
}

async function withDatabaseClient(url: string, work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  if (!isPostgres(url)) return
  const client = new pg.Client({ ...withStartUp(url), connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => undefined) // The running statement reports the loss.
  await client.connect().catch((cause: unknown) => {
    const { host } = new URL(url)
    throw new Error(`The queue at ${host} (QUEUE_URL) cannot be reached: ${rootReason(cause)}`, { cause })
  })
  try {
    await requirePrimary(client)
    await client.query(`set lock_timeout = ${LOCK_TIMEOUT_MS}`)
    await work(client)
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function closeBoth(
  bull: { close(force?: boolean): Promise<void> },
  closeConnection: () => Promise<void>,
  force?: boolean,
): Promise<void> {
  await bull.close(force).catch(() => undefined)
  await closeConnection().catch(() => undefined)
}

function openPool(
  url: string,
  { max, silenceMs }: { max: number; silenceMs: number },
  onError: (error: Error) => void,
) {
  const pool = new pg.Pool({
    max,
    application_name: 'latchkey-mail',
    ...withStartUp(url, {
      // BullMQ waits for jobs by `listen`, which is not a running statement.
      defaults: `-c statement_timeout=${serverTimeoutMs(silenceMs)}`,
      fixed: '-c search_path=bullmq',
    }),
    onConnect: requirePrimary,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: silenceMs,
    keepAlive: true,
  })
  pool.on('error', onError)
  // Each client has a listener: without it, a client that breaks while it is checked out ends the process.
  pool.on('connect', (client) => client.on('error', onError))
  // BullMQ's description of a pool and @types/pg's differ in details that do not matter here.
  return pool as unknown as PostgresConnectionOptions & pg.Pool
}

/** Refuses a replica, and a pooler: BullMQ waits for jobs by `listen`, whose notices a pooler gives to any client. */
async function requirePrimary(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query(
    `select ${isDirect(client)} as is_direct, ${IS_READ_ONLY} as is_read_only, ${setIfDirect(client)}`,
  )
  if (rows[0].is_read_only) throw readOnlyServer()
  if (!rows[0].is_direct)
    throw new Error(
      'QUEUE_URL (by default DATABASE_URL) leads to a pooler; set it to the address of PostgreSQL itself, or of Redis',
    )
}
