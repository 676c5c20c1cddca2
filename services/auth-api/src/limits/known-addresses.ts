import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type LimitedClient, pairKey } from './limit-keys.ts'
import type { LimitStore } from './limit-store.ts'

/** The addresses from which logins to an account have succeeded. */
export interface KnownAddresses {
  remember(client: LimitedClient, account: string): Promise<void>
  has(client: LimitedClient, account: string): Promise<boolean>
}

const REMEMBERED_MS = 30 * 24 * 60 * 60 * 1000
const ADDRESSES_IN_MEMORY = 50_000
/** Addresses in Redis, which take some 25 MB there. The one whose last login is the oldest is forgotten first. */
const ADDRESSES_IN_REDIS = 200_000
/** The sorted set of the addresses in Redis, by the time of their last login. */
const NAME = 'known'

/**
 * Creates the store of known addresses. It remembers them for 30 days, in this process and, where there is Redis, for all
 * replicas. Without Redis each process knows its own.
 * It does not read the property of `notify-new-client.ts`: a limit is checked before the user is read.
 */
export function createKnownAddresses(
  store: LimitStore | undefined,
  accountKey: (account: string) => string,
  maxInRedis = ADDRESSES_IN_REDIS,
): KnownAddresses {
  const memory = new LRUCache<string, true>({ max: ADDRESSES_IN_MEMORY, ttl: REMEMBERED_MS })
  // A hash, because an address and an account key would take twice the memory.
  const keyOf = (client: LimitedClient, account: string) =>
    hash('sha256', pairKey(client.address, accountKey(account)), 'base64url').slice(0, 22)

  async function hasInRedis(key: string): Promise<boolean> {
    const set = store?.keyOf(NAME)
    const lastLogin = set === undefined ? null : await store?.redis.zscore(set, key).catch(() => null)
    return Number(lastLogin ?? Number.NEGATIVE_INFINITY) > Date.now() - REMEMBERED_MS
  }

  return {
    async remember(client, account) {
      const key = keyOf(client, account)
      memory.set(key, true)
      const set = store?.keyOf(NAME)
      if (set === undefined) return
      await store?.redis
        .pipeline()
        .zadd(set, Date.now(), key)
        .zremrangebyrank(set, 0, -maxInRedis - 1)
        .exec()
        .catch(() => undefined)
    },
    async has(client, account) {
      const key = keyOf(client, account)
      return memory.has(key) || hasInRedis(key)
    },
  }
}
