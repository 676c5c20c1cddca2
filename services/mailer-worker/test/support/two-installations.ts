import { hasDocker, sharedServer } from '@latchkey/test-support/servers/shared-server.ts'
import { openMailSystem } from './mail-system.ts'
import { createOwnServers } from './own-servers.ts'

/** Two installations with a database each, whose queues are on one server: Redis, or PostgreSQL. */
export async function openTwo(kind: string) {
  await using stack = new AsyncDisposableStack()
  const [one, two] = [stack.use(await createOwnServers()), stack.use(await createOwnServers())]
  const queueUrl = kind === 'Redis' ? await sharedServer('redis') : one.queueUrl
  const systems = [
    stack.use(await openMailSystem({ databaseUrl: one.databaseUrl, queueUrl })),
    stack.use(await openMailSystem({ databaseUrl: two.databaseUrl, queueUrl })),
  ] as const
  const running = stack.move()
  return { systems, queueUrl, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

/** The kinds of queues that two installations can share. */
export const QUEUES = hasDocker() ? ['Redis', 'PostgreSQL'] : ['PostgreSQL']
