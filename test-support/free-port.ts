import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import getPort from 'get-port'

/**
 * A range below the ports that systems and Docker assign, and above the last one that `fetch` refuses: 10080, a bad port of
 * the Fetch standard.
 */
const [FIRST, SIZE] = [10_100, 9_900]

/**
 * A free TCP port that no other test takes while this process lives, also when its server restarts: a socket on the
 * port SIZE above reserves it.
 */
export async function findFreePort(): Promise<number> {
  for (;;) {
    const port = await getPort({ port: randomInt(FIRST, FIRST + SIZE) })
    if (port < FIRST + SIZE && (await canReserve(port + SIZE))) return port
  }
}

async function canReserve(port: number): Promise<boolean> {
  const reservation = createServer().listen(port, '127.0.0.1').unref()
  return once(reservation, 'listening').then(
    () => true,
    () => false,
  )
}
