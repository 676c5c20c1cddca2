import type { ReadInstallation } from '@latchkey/shared/database/installation.ts'
import { openRedis, type RedisClient } from '@latchkey/shared/redis/open-redis.ts'
import { isRedisUrl } from '@latchkey/shared/redis/redis-url.ts'

/** A command that takes longer counts as failed. */
const COMMAND_TIMEOUT_MS = 250
/**
 * A connection without any answer for this time is closed, and commands fail at once: each would otherwise wait for its
 * timeout. TCP needs a quarter of an hour to detect the loss.
 */
const SOCKET_TIMEOUT_MS = 1_000

/** The Redis in which all replicas of an installation count. */
export interface LimitStore {
  redis: RedisClient
  /** The key of this installation that is called `name`; undefined until the database has told which installation it is. */
  keyOf(name: string): string | undefined
}

/** Opens the Redis in which limits are counted, if the queue is in Redis. No request waits for a Redis that is unavailable. */
export function openLimitStore(
  queueUrl: string,
  readInstallation: ReadInstallation,
  logger: { debug(details: object, message: string): void },
): LimitStore | undefined {
  if (!isRedisUrl(queueUrl)) return undefined
  const waits = {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
  }
  const redis = openRedis(queueUrl, waits, (error) =>
    logger.debug({ err: error }, 'the Redis of the limits is unavailable'),
  )
  let installation: string | undefined
  async function learnInstallation(): Promise<void> {
    installation = await readInstallation().catch(() => undefined)
  }
  void learnInstallation()
  return {
    redis,
    keyOf(name) {
      if (installation !== undefined) return `latchkey-${installation}:limit:${name}`
      // No request waits for it: until then each process counts on its own.
      void learnInstallation()
      return undefined
    },
  }
}
