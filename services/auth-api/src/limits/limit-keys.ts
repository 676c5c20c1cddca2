import { createHmac, createSecretKey } from 'node:crypto'
import { normalizeIP } from '@fastify/rate-limit'
import { fold } from '@latchkey/shared/users/fold.ts'
import { LRUCache } from 'lru-cache'
import { boundedTo } from '../bounded-cache.ts'

/** The smallest network that a provider gives to one customer. */
const IPV6_SUBNET = 64
/** Some gateways add the port to an address in X-Forwarded-For, so that each connection would count as a client. */
const PORT = /^(?:\[([^\]]+)\]|([\d.]+)):\d+$/
/** A longer one is not an address: a proxy forwards any text. */
const MAX_REMEMBERED_LENGTH = 64
/** Clients that disconnect at once have no address any more: all of them count as one. */
const DISCONNECTED = 'disconnected'

/** Parsing an address takes longer than looking it up. */
const remembered = new LRUCache<string, string>(boundedTo(10_000))

/** The address that a client counts as: an IPv4 address or an IPv6 /64. */
export function addressKey({ ip = DISCONNECTED }: { ip?: string }): string {
  const known = remembered.get(ip)
  if (known !== undefined) return known
  const key = normalizeIP(ip.replace(PORT, '$1$2'), IPV6_SUBNET)
  if (ip.length <= MAX_REMEMBERED_LENGTH) remembered.set(ip, key)
  return key
}

/** Creates the keys of accounts, which are keyed hashes: the counters hold no name in clear. */
export function createAccountKey(secret: Uint8Array): (account: string) => string {
  // Bytes would be imported for each hash, which takes longer than the hash.
  const key = createSecretKey(createHmac('sha256', secret).update('latchkey rate limit').digest())
  return (account) => createHmac('sha256', key).update(fold(account)).digest('base64url')
}

/** The key of an account at an address; both are keys. */
export const pairKey = (address: string, account: string): string => `${address} ${account}`
