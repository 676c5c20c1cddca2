import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'
import type { Authority } from './certificate-authority.ts'
import { findFreePort } from './free-port.ts'
import { waitFor } from './wait-for.ts'

/** The servers that speak the protocol of Redis. */
export const REDIS_IMAGES = ['redis:8', 'valkey/valkey:9'] as const
export type RedisImage = (typeof REDIS_IMAGES)[number]

/** The topologies of the servers. */
export const TOPOLOGIES = ['Sentinel', 'Cluster'] as const
export type Topology = (typeof TOPOLOGIES)[number]

export interface RedisServers extends AsyncDisposable {
  /** The value of QUEUE_URL for these servers. */
  url: string
  /** The ports of the servers; one without the cluster or the Sentinels. */
  ports: readonly number[]
  /** The port of the server that has the queue. */
  primary(): Promise<number>
  run(port: number, ...command: string[]): Promise<string>
  signal(port: number, signal: 'KILL' | 'STOP' | 'CONT'): Promise<void>
  start(port: number): Promise<void>
  /** Promotes a replica of the primary while both are up. */
  switchOver(): Promise<void>
}

const PASSWORD = 'of-the-servers'
const SENTINEL_PASSWORD = 'of-the-sentinels'
const MASTER = 'mymaster'
/** A server that is silent for this long is replaced. */
const DOWN_AFTER_MS = 2_000

/**
 * Servers in one container, each on the port that it has outside too: what servers and Sentinels say of each other's
 * addresses is then true for a client, on any system.
 */
export async function startRedisServers(
  image: RedisImage,
  topology: Topology,
  authority?: Authority,
): Promise<RedisServers> {
  const ports = await Promise.all(Array.from({ length: 6 }, findFreePort))
  const container = await new GenericContainer(image)
    .withEntrypoint(['sleep'])
    .withCommand(['infinity'])
    .withExposedPorts(...ports.map((port) => ({ container: port, host: port })))
    .withCopyContentToContainer(authority ? tlsFiles(authority) : [])
    .withWaitStrategy(Wait.forSuccessfulCommand('true'))
    .start()
  const shell = createShell(container)
  const hasTls = authority !== undefined
  const program = image.startsWith('valkey') ? 'valkey' : 'redis'
  const cli = (port: number, password = PASSWORD) =>
    `${program}-cli ${authority ? '--tls --cacert /tls/ca ' : ''}-p ${port} --no-auth-warning -a ${password}`
  const start = (port: number, options = '') =>
    shell(`mkdir -p /tmp/${port} && ${program}-server ${serverOptions(port, hasTls)} ${options}`)
  const servers = {
    ports,
    run: (port: number, ...command: string[]) => shell(`${cli(port)} ${command.join(' ')}`),
    signal: async (port: number, signal: string) =>
      void (await shell(`kill -${signal} $(cat /tmp/${port}/pid)`)),
    [Symbol.asyncDispose]: async () => void (await container.stop()),
  }
  return topology === 'Sentinel'
    ? withSentinels({ ...servers, shell, cli, start, program, hasTls })
    : asCluster({ ...servers, shell, cli, start, hasTls })
}

const tlsFiles = ({ ca, server }: Authority) => [
  { content: ca, target: '/tls/ca' },
  { content: server.cert, target: '/tls/cert' },
  { content: server.key, target: '/tls/key' },
]

/** With TLS, servers name each other as their certificate does. */
const TLS = {
  'tls-cert-file': '/tls/cert',
  'tls-key-file': '/tls/key',
  'tls-ca-cert-file': '/tls/ca',
  'tls-auth-clients': 'no',
  'tls-replication': 'yes',
}
const NAMED = 'localhost'
const NAMED_IN_CLUSTER = `--tls-cluster yes --cluster-announce-hostname ${NAMED} --cluster-preferred-endpoint-type hostname`
const portOptions = (port: number, hasTls: boolean): Record<string, string | number> =>
  hasTls ? { port: 0, 'tls-port': port, ...TLS } : { port }

const asArguments = (options: Record<string, string | number>): string =>
  Object.entries(options)
    .map(([name, value]) => `--${name} ${value}`)
    .join(' ')

const serverOptions = (port: number, hasTls: boolean) =>
  [
    `${asArguments(portOptions(port, hasTls))} --dir /tmp/${port} --pidfile /tmp/${port}/pid --daemonize yes --logfile /tmp/${port}/log`,
    `--protected-mode no --requirepass ${PASSWORD} --masterauth ${PASSWORD}`,
    '--appendonly yes --maxmemory-policy noeviction',
  ].join(' ')

type Shell = (command: string) => Promise<string>

function createShell(container: StartedTestContainer): Shell {
  return async (command) => {
    const { output, exitCode } = await container.exec(['sh', '-c', command])
    if (exitCode !== 0) throw new Error(`${command} ended with ${exitCode}: ${output}`)
    return output
  }
}

type Parts = Pick<RedisServers, 'ports' | 'run' | 'signal' | keyof AsyncDisposable> & {
  shell: Shell
  cli: (port: number, password?: string) => string
  start: (port: number, options?: string) => Promise<string>
  hasTls: boolean
}

/** A server with two replicas, and three Sentinels with a password of their own. */
async function withSentinels({
  shell,
  cli,
  start,
  program,
  hasTls,
  ports: all,
  ...servers
}: Parts & { program: string }): Promise<RedisServers> {
  const [ports, sentinels] = [all.slice(0, 3), all.slice(3)]
  const [first = 0, ...replicas] = ports
  const host = hasTls ? NAMED : '127.0.0.1'
  const startServer = (port: number, options = '') =>
    start(port, `${options} ${hasTls ? `--replica-announce-ip ${NAMED}` : ''}`)
  await startServer(first)
  for (const port of replicas) await startServer(port, `--replicaof ${host} ${first}`)
  for (const port of sentinels) {
    const settings = [
      ...Object.entries(portOptions(port, hasTls)).map((option) => option.join(' ')),
      ...(hasTls ? ['sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes'] : []),
      `requirepass ${SENTINEL_PASSWORD}`,
      `sentinel sentinel-pass ${SENTINEL_PASSWORD}`,
      `sentinel monitor ${MASTER} ${host} ${first} 2`,
      `sentinel auth-pass ${MASTER} ${PASSWORD}`,
      `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${MASTER} 3000`,
      `daemonize yes\ndir /tmp\nlogfile /tmp/${port}.log\nprotected-mode no`,
    ]
    await shell(
      `printf '${settings.join('\n')}\n' > /tmp/${port}.conf && ${program}-server /tmp/${port}.conf --sentinel`,
    )
  }
  const [asked = 0] = sentinels
  const ask = (command: string) => shell(`${cli(asked, SENTINEL_PASSWORD)} sentinel ${command}`)
  await waitFor(async () => (await ask(`ckquorum ${MASTER}`)).startsWith('OK 3'))
  await waitFor(async () => (await ask(`replicas ${MASTER}`)).split('runid').length === 3)
  const hosts = sentinels.map((port) => `${host}:${port}`).join(',')
  return {
    ...servers,
    ports,
    url: `${hasTls ? 'rediss' : 'redis'}-sentinel://:${PASSWORD}@${hosts}/0?sentinelPassword=${SENTINEL_PASSWORD}#${MASTER}`,
    primary: async () => Number((await ask(`get-master-addr-by-name ${MASTER}`)).split(/\s+/)[1]),
    start: async (port) => void (await startServer(port)),
    switchOver: async () => void (await ask(`failover ${MASTER}`)),
  }
}

/** Three servers with a replica each. */
async function asCluster({ shell, cli, start, hasTls, ports, ...servers }: Parts): Promise<RedisServers> {
  const options =
    // The port of the bus is 10,000 above, below those that the system hands out to connections.
    `--cluster-enabled yes --cluster-node-timeout ${DOWN_AFTER_MS} ${hasTls ? NAMED_IN_CLUSTER : ''}`
  const startNode = async (port: number) => void (await start(port, options))
  const [asked = 0] = ports
  for (const port of ports) await startNode(port)
  const hosts = ports.map((port) => `127.0.0.1:${port}`)
  await shell(`${cli(asked)} --cluster create ${hosts.join(' ')} --cluster-replicas 1 --cluster-yes`)
  await waitFor(async () => (await servers.run(asked, 'cluster', 'info')).includes('cluster_state:ok'))

  const nodes = async () => {
    for (const port of ports) {
      const answer = await shell(`timeout 1 ${cli(port)} cluster nodes`).catch(() => '')
      if (answer.includes('myself')) return answer.split('\n').map(readNode)
    }
    throw new Error('No server of the cluster answers')
  }
  const slot = Number((await servers.run(asked, 'cluster', 'keyslot', "'{latchkey-test}'")).trim())
  const primary = async () =>
    (await nodes()).find(({ slots }) => slots.some(([from, to]) => from <= slot && slot <= to))
  return {
    ...servers,
    ports,
    url: hasTls
      ? `rediss-cluster://:${PASSWORD}@${hosts.slice(0, 3).join(',').replaceAll('127.0.0.1', NAMED)}`
      : `redis-cluster://:${PASSWORD}@${hosts.slice(0, 3).join(',')}`,
    primary: async () => (await primary())?.port ?? 0,
    start: startNode,
    async switchOver() {
      const old = await primary()
      const replica = (await nodes()).find(({ of }) => of === old?.id)
      await servers.run(replica?.port ?? 0, 'cluster', 'failover')
    },
  }
}

/** A line of `CLUSTER NODES`. */
function readNode(line: string) {
  const [id = '', address = '', , of = '', , , , , ...slots] = line.trim().split(' ')
  return {
    id,
    of,
    port: Number(/:(\d+)/.exec(address)?.[1]),
    slots: slots.map((range) => {
      const [from = '', to = from] = range.split('-')
      return [Number(from), Number(to)] as const
    }),
  }
}
