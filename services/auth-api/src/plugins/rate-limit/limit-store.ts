import type { FastifyBaseLogger } from 'fastify'
import { Redis } from 'ioredis'

/** An answer that takes longer than this counts as none, in milliseconds. */
const PATIENCE_MS = 250
/** A connection that answers nothing for so long is given up: TCP would need a quarter of an hour to notice. */
const SILENCE_MS = 5_000

/** The Redis in which limits are counted, where the queue is on Redis too; a Redis that is away delays nobody. */
export function openLimitStore(
  queueUrl: string,
  logger: Pick<FastifyBaseLogger, 'debug'>,
): Redis | undefined {
  if (!/^rediss?:/.test(queueUrl)) return undefined
  const redis = new Redis(queueUrl, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: PATIENCE_MS,
    socketTimeout: SILENCE_MS,
  })
  redis.on('error', (error) => logger.debug({ err: error }, 'the store of the limits is away'))
  return redis
}
