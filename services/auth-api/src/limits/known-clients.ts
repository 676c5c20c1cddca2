import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { addressKey, type LimitedRequest, pairKey } from './limit-keys.ts'

/** The addresses from which logins to an account have succeeded. */
export interface KnownClients {
  remember(request: LimitedRequest, account: string): Promise<void>
  has(request: LimitedRequest, account: string): Promise<boolean>
}

const REMEMBERED_SECONDS = 30 * 24 * 60 * 60
const CLIENTS_IN_MEMORY = 50_000

/** Remembers for 30 days, in this process and, where there is Redis, for all replicas. Without Redis each process knows its own. */
export function createKnownClients(
  redis: Redis | undefined,
  accountKey: (account: string) => string,
): KnownClients {
  const here = new LRUCache<string, true>({ max: CLIENTS_IN_MEMORY, ttl: REMEMBERED_SECONDS * 1000 })
  const keyOf = (request: LimitedRequest, account: string) =>
    pairKey(addressKey(request), accountKey(account))
  const redisKey = (key: string) => `latchkey-limit:known:${key}`

  return {
    async remember(request, account) {
      const key = keyOf(request, account)
      here.set(key, true)
      await redis?.set(redisKey(key), 1, 'EX', REMEMBERED_SECONDS).catch(() => undefined)
    },
    async has(request, account) {
      const key = keyOf(request, account)
      return here.has(key) || (await redis?.exists(redisKey(key)).catch(() => 0)) === 1
    },
  }
}
