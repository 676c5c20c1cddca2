import { Cluster, Redis, type RedisOptions } from 'ioredis'
import { rootReason } from '../errors/root-reason.ts'
import { parseRedisServers, readRedisServer, redisKind } from './redis-url.ts'

/** A client of one server, of the one that Sentinels name, or of a cluster. */
export type RedisClient = Redis | Cluster

/** The times that a client waits, in milliseconds, by what it waits for. */
export interface RedisWaits
  extends Pick<
    RedisOptions,
    'enableOfflineQueue' | 'maxRetriesPerRequest' | 'connectTimeout' | 'commandTimeout' | 'socketTimeout'
  > {
  connectTimeout: number
}

const LONGEST_RECONNECT_PAUSE_MS = 2_000

/** Opens a client for a URL of Redis or Valkey. It connects by itself, and again after any loss. */
export function openRedis(url: string, waits: RedisWaits, onError: (error: Error) => void): RedisClient {
  const client = createClient(url, waits)
  client.on('error', onError)
  return client
}

/** ioredis drops why a Sentinel or a server of a cluster is refused, and says only that the connection is closed. */
export const describeTls = (url: string, error: Error): Error =>
  url.startsWith('rediss') && /Connection is closed|^Redis is unavailable$/.test(rootReason(error))
    ? new Error('no server answers, or its certificate is not trusted; set NODE_EXTRA_CA_CERTS')
    : error

function createClient(url: string, { enableOfflineQueue = true, ...waits }: RedisWaits): RedisClient {
  const options = {
    ...waits,
    keepAlive: 10_000,
    // The server has become a replica. 2 sends the command again, to the server that the name or the Sentinels lead to now.
    reconnectOnError: ({ message }: Error) => message.includes('READONLY') && (2 as const),
  }
  const kind = redisKind(url)
  if (kind === 'server')
    return new Redis({ ...readRedisServer(url), ...options, enableOfflineQueue, retryStrategy })
  const { username, password, tls, ...servers } = parseRedisServers(url)
  const login = { ...options, username, password, ...(tls && { tls }) }
  if (kind === 'cluster')
    return new Cluster(servers.hosts, {
      enableOfflineQueue,
      clusterRetryStrategy: retryStrategy,
      redisOptions: login,
      // Certificates are for names; by default the client connects to the address of a name.
      ...(tls && { dnsLookup: (host, found) => found(null, host) }),
    })
  return new Redis({
    ...login,
    enableOfflineQueue,
    retryStrategy,
    sentinels: servers.hosts,
    name: servers.sentinelMasterId,
    db: servers.database,
    sentinelUsername: servers.sentinelUsername,
    sentinelPassword: servers.sentinelPassword,
    sentinelCommandTimeout: waits.connectTimeout,
    ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
  })
}

const retryStrategy = (times: number): number =>
  Math.min(100 * 2 ** Math.min(times, 10), LONGEST_RECONNECT_PAUSE_MS)

const OTHER_KINDS: Readonly<Record<string, string>> = {
  cluster: 'the server is part of a cluster; write redis-cluster:// in QUEUE_URL',
  sentinel:
    'the server is a Sentinel; write redis-sentinel:// in QUEUE_URL, and at its end # and the name of the server',
}

/**
 * Rejects where one server was expected and another kind answers. A server of a cluster would take the queue, until the
 * cluster moves that elsewhere. The client of a cluster finds out by itself.
 */
export async function requireExpectedKind(client: RedisClient): Promise<void> {
  if (client instanceof Cluster) return
  // Valkey says server_mode.
  const [, mode = ''] = /^(?:redis|server)_mode:(\w+)/m.exec(await client.info('server')) ?? []
  const refusal = OTHER_KINDS[mode]
  if (refusal) throw new Error(refusal)
}
