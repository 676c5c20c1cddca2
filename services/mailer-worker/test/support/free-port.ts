import { once } from 'node:events'
import { createServer } from 'node:net'

/** A TCP port that nobody listens on just now. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}
