import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect } from 'node:util'
import type { TestProject } from 'vitest/node'
import { connectToGuard, startGuard } from '../guard/guard.ts'

export interface StartedServer {
  url: string
  stop(): Promise<unknown>
}

/** Loaded on use, since Testcontainers takes a second to load. */
const SERVERS = {
  embedded: () => import('./embedded.ts'),
  postgres: () => import('./postgres.ts'),
  pgbouncer: () => import('./pgbouncer.ts'),
  mysql: () => import('./mysql.ts'),
  mariadb: () => import('./mariadb.ts'),
  galera: () => import('./galera.ts'),
  'group-replication': () => import('./group-replication.ts'),
  redis: () => import('./redis.ts'),
  'service-images': () => import('./service-images.ts'),
  'scriptify-image': () => import('./scriptify-image.ts'),
  'patroni-image': () => import('./patroni-image.ts'),
  'php-machine': () => import('./php-machine.ts'),
  'systemd-php-image': async () => (await import('./machine-images.ts')).systemdPhp,
  'systemd-node-image': async () => (await import('./machine-images.ts')).systemdNode,
} satisfies Record<string, () => Promise<{ start(find: FindServer): Promise<StartedServer> }>>

export type SharedServer = keyof typeof SERVERS

/** Starts a shared server, unless it has been started. */
export type FindServer = (name: SharedServer) => Promise<StartedServer>

/**
 * A Vitest global set-up: starts each server when a test file first calls `sharedServer(name)`, and stops them all at the
 * end of the run. A run that needs no server starts none, and no file waits for a server that it does not use.
 */
export default async function shareServers(
  project: Pick<TestProject, 'provide'>,
): Promise<() => Promise<void>> {
  const guard = await startGuard()
  await connectToGuard(guard)
  project.provide('guard', guard)
  const started = new Map<SharedServer, Promise<StartedServer>>()
  const find: FindServer = (name) => {
    const server = started.get(name) ?? startTwice(name, find)
    started.set(name, server)
    return server
  }
  const listener = createServer(async (request, response) => {
    try {
      const name = String(request.url?.slice(1))
      if (!isShared(name)) throw new Error(`Known are ${Object.keys(SERVERS).join(', ')}`)
      response.end((await find(name)).url)
    } catch (error) {
      response.writeHead(500).end(inspect(error))
    }
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  project.provide('sharedServersUrl', `http://127.0.0.1:${(listener.address() as AddressInfo).port}`)

  return async () => {
    listener.closeAllConnections()
    listener.close()
    const servers = await Promise.allSettled(started.values())
    await Promise.all(servers.map((server) => server.status === 'fulfilled' && server.value.stop()))
  }
}

/** Half of the files of a run wait for one server: a start that fails is named and repeated once. */
async function startTwice(name: SharedServer, find: FindServer): Promise<StartedServer> {
  const { start } = await SERVERS[name]()
  return start(find).catch((error: unknown) => {
    process.stderr.write(`The shared ${name} did not start, and is started again: ${inspect(error)}\n`)
    return start(find)
  })
}

const isShared = (name: string): name is SharedServer => name in SERVERS
