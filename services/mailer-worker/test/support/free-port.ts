import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that systems and Docker give out by themselves: nothing takes one of these before the test does. */
const PORTS = { lowest: 10_000, above: 20_000 }

/** A TCP port that nobody listens on just now. */
export async function findFreePort(): Promise<number> {
  const port = randomInt(PORTS.lowest, PORTS.above)
  return (await isFree(port)) ? port : findFreePort()
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port)
  try {
    await once(server, 'listening')
  } catch {
    return false
  }
  server.close()
  await once(server, 'close')
  return true
}
