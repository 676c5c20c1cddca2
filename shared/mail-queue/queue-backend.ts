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
import { Redis } from 'ioredis'
import pg from 'pg'
import { serverTimeoutMs } from '../database/server-timeout.ts'
import { MAIL_QUEUE } from './mail-job.ts'

export interface Opened<Thing> {
  thing: Thing
  /** Closes it and the connections under it; `force` drops what is in hand. */
  close(force?: boolean): Promise<void>
}

interface ErrorEmitter {
  on(event: 'error', listener: (error: Error) => void): unknown
}
/** What of a BullMQ queue this project uses, whatever it is kept in. */
export type BullQueue = ErrorEmitter &
  Pick<Queue, 'add' | 'getJobCounts' | 'getFailed' | 'getJob' | 'waitUntilReady' | 'close'>
/** What of a BullMQ worker this project uses, whatever its queue is kept in. */
export type BullWorker = ErrorEmitter & {
  on(event: 'stalled', listener: (jobId: string) => void): unknown
} & Pick<Worker, 'run' | 'close' | 'isRunning' | 'waitUntilReady'>

const CONNECT_TIMEOUT_MS = 3_000
/** A command that Redis has not answered by then fails, so that a hanging one holds up nobody. */
const COMMAND_TIMEOUT_MS = 2_000
/**
 * A connection that was asked and says nothing for so long is given up: what is behind it may be gone, and TCP would
 * need a quarter of an hour to notice. A worker's waits 10 s for the next job before that says anything.
 */
const SILENCE_MS = { queue: 5_000, worker: 15_000 }
const LONGEST_RECONNECT_PAUSE_MS = 2_000

const isPostgres = (url: string): boolean => /^postgres(ql)?:/.test(url)

/** A queue on Redis or PostgreSQL, as `url` says. Fails fast while the server is away. */
export function openBullQueue(
  url: string,
  options: Omit<QueueOptions, 'connection'>,
  onError: (error: Error) => void,
): Opened<BullQueue> {
  if (isPostgres(url)) {
    const pool = openPool(url, { max: 3, silenceMs: SILENCE_MS.queue }, onError)
    const queue = new Queue(MAIL_QUEUE, { ...options, connection: pool }, createPostgresBackend)
    return { thing: queue, close: () => closeBoth(queue, () => pool.end()) }
  }
  const redis = openRedis(url, onError, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_MS.queue,
  })
  const queue = new Queue(MAIL_QUEUE, { ...options, connection: redis })
  return { thing: queue, close: () => closeBoth(queue, async () => redis.disconnect()) }
}

/** A worker on Redis or PostgreSQL, as `url` says. Waits for the server whenever that is away. */
export function openBullWorker<Data>(
  url: string,
  processor: Processor<Data, unknown, string>,
  options: Omit<WorkerOptions, 'connection'>,
  onError: (error: Error) => void,
): Opened<BullWorker> {
  if (isPostgres(url)) {
    // One connection listens; the others take, renew and finish jobs.
    const pool = openPool(url, { max: 6, silenceMs: SILENCE_MS.worker }, onError)
    const worker = new Worker(MAIL_QUEUE, processor, { ...options, connection: pool }, createPostgresBackend)
    return { thing: worker, close: (force) => closeBoth(worker, () => pool.end(), force) }
  }
  const redis = openRedis(url, onError, { maxRetriesPerRequest: null, socketTimeout: SILENCE_MS.worker })
  const worker = new Worker(MAIL_QUEUE, processor, { ...options, connection: redis })
  return { thing: worker, close: (force) => closeBoth(worker, async () => redis.disconnect(), force) }
}

/**
 * Makes BullMQ's tables where the queue is kept in PostgreSQL; nothing to do for Redis. Run by one deployment step,
 * together with the migrations; idempotent and locked.
 */
export async function prepareQueue(url: string): Promise<void> {
  if (!isPostgres(url)) return
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => undefined) // The statement in hand reports the loss.
  await client.connect()
  try {
    await runMigrations(client)
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
    connectionString: url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: silenceMs,
    keepAlive: true,
    application_name: 'latchkey-mail',
    // BullMQ waits for jobs by `listen`, which is no statement in hand.
    options: `-c search_path=bullmq -c statement_timeout=${serverTimeoutMs(silenceMs)}`,
  })
  pool.on('error', onError)
  // Without a listener on each client, one that breaks while it is checked out ends the process.
  pool.on('connect', (client) => client.on('error', onError))
  // BullMQ's own description of a pool and @types/pg's differ in details that do not matter here.
  return pool as unknown as PostgresConnectionOptions & pg.Pool
}

function openRedis(
  url: string,
  onError: (error: Error) => void,
  options: Pick<
    Redis['options'],
    'enableOfflineQueue' | 'maxRetriesPerRequest' | 'commandTimeout' | 'socketTimeout'
  >,
): Redis {
  const redis = new Redis(url, {
    ...options,
    connectTimeout: CONNECT_TIMEOUT_MS,
    keepAlive: 10_000,
    retryStrategy: (times) => Math.min(100 * 2 ** Math.min(times, 10), LONGEST_RECONNECT_PAUSE_MS),
  })
  redis.on('error', onError)
  return redis
}
