import type { ConnectionOptions } from 'node:tls'
import type { Fault } from '../settings/fault.ts'
import { hasStrayAt, withOneHost } from '../settings/setting.ts'
import { nodeTlsOptions } from '../settings/tls-options.ts'

/** Schemes of the URLs of Redis and Valkey, without the colon. Those that begin with `rediss` use TLS. */
export const REDIS_PROTOCOLS = [
  'redis',
  'rediss',
  'redis-sentinel',
  'rediss-sentinel',
  'redis-cluster',
  'rediss-cluster',
] as const

/** One server, the Sentinels that know where it is, or some servers of a cluster. */
export type RedisKind = 'server' | 'sentinel' | 'cluster'

/** The servers that a URL with several hosts names. */
export interface RedisServers {
  hosts: { host: string; port: number }[]
  tls: ConnectionOptions | undefined
  username: string
  password: string
  database: number
  /** The name by which Sentinels know the server, and the login of the Sentinels. */
  sentinelMasterId: string
  sentinelUsername: string
  sentinelPassword: string
}

const SCHEME = /^(rediss?)(?:-(sentinel|cluster))?:\/\//
/** User name and password, hosts, path, query and fragment. */
const PARTS = /^(?:([^@/?#]*)@)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/s
const HOST = /^(?:\[([0-9a-f:.]+)\]|([^:@[\]\s]+))(?::(\d{1,5}))?$/i
const EMPTY_HOST = /^(:\d*)?$/
const SENTINEL_PORT = 26_379
const PORT = 6_379
const EXAMPLES: Readonly<Record<RedisKind, string>> = {
  server: 'redis://queue.example.com:6379',
  sentinel: 'redis-sentinel://sentinel-1:26379,sentinel-2:26379/0#mymaster',
  cluster: 'redis-cluster://redis-1:6379,redis-2:6379',
}

/** True for a URL of Redis or Valkey, also for one with a fault. */
export const isRedisUrl = (url: string): boolean => SCHEME.test(url)

/** Returns the kind of servers that a URL of Redis leads to. */
export const redisKind = (url: string): RedisKind => (SCHEME.exec(url)?.[2] ?? 'server') as RedisKind

/** Finds the fault of a URL of Redis; undefined for a URL of something else. */
export function findRedisFault(url: string): Fault | undefined {
  if (!isRedisUrl(url)) return undefined
  const message = faultOf(url)
  return message === undefined
    ? undefined
    : { message, remedy: `For example: QUEUE_URL=${EXAMPLES[redisKind(url)]}` }
}

function faultOf(url: string): string | undefined {
  if (url.split('://').length > 2) return 'must have one scheme, before the first of its hosts'
  // The setting reports it: what follows the @ could be the host.
  if (hasStrayAt(url)) return undefined
  const kind = redisKind(url)
  const { hosts, path, options, fragment } = split(url)
  if (hosts.some((host) => EMPTY_HOST.test(host))) return 'must have no empty host'
  if (kind === 'server' && hosts.length > 1)
    return 'must start with redis-sentinel:// or redis-cluster:// for several hosts'
  if (kind === 'server')
    return /^\/?\d*$/.test(path) ? undefined : 'must have only the number of a database after its host'
  if (!hosts.every((host) => HOST.test(host)))
    return 'must have hosts such as redis-1:6379, separated by commas'
  if (kind === 'cluster') {
    const isOnlyHosts = /^\/?0?$/.test(path) && fragment === ''
    return isOnlyHosts ? undefined : 'must have nothing after its hosts, since a cluster has only database 0'
  }
  if (!/^(\/\d*)?$/.test(path))
    return 'must have only the number of a database between its hosts and the name'
  return fragment || options.get('sentinelMasterId')
    ? undefined
    : 'must end with # and the name by which the Sentinels know the server'
}

/** Reads a URL of one server and without a fault, as options of ioredis. */
export function readRedisServer(text: string) {
  const url = new URL(text)
  const { db, family, connectionName } = Object.fromEntries(url.searchParams)
  const tls = nodeTlsOptions(url)
  return {
    host: url.hostname.replaceAll(/[[\]]/g, ''),
    port: Number(url.port || PORT),
    username: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    db: Number(url.pathname.slice(1) || db || 0),
    ...(family && { family: Number(family) }),
    ...(connectionName && { connectionName }),
    ...(tls && { tls }),
  }
}

/** Reads a URL with several hosts and no fault. Its syntax is that of `RedisURI` of Lettuce. */
export function parseRedisServers(url: string): RedisServers {
  const { hosts, user, path, options, fragment } = split(url)
  const defaultPort = redisKind(url) === 'sentinel' ? SENTINEL_PORT : PORT
  const [, username = '', password = user] = /^([^:]*):(.*)$/s.exec(user) ?? []
  return {
    hosts: hosts.map((each) => {
      const [, address, name = '', port] = HOST.exec(each) ?? []
      return { host: address ?? name, port: Number(port ?? defaultPort) }
    }),
    tls: nodeTlsOptions(new URL(withOneHost(url))),
    username: decodeURIComponent(username),
    // Without a colon it is the password, as in Lettuce.
    password: decodeURIComponent(password),
    database: Number(path.slice(1)),
    sentinelMasterId: decodeURIComponent(fragment) || (options.get('sentinelMasterId') ?? ''),
    sentinelUsername: options.get('sentinelUsername') ?? '',
    sentinelPassword: options.get('sentinelPassword') ?? '',
  }
}

function split(url: string) {
  const [, user = '', hosts = '', path = '', query = '', fragment = ''] =
    PARTS.exec(url.replace(SCHEME, '')) ?? []
  return {
    user,
    hosts: hosts.split(','),
    path,
    options: new URLSearchParams(query),
    fragment: fragment.slice(1),
  }
}
