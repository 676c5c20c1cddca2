import { randomInt } from 'node:crypto'
import getPort from 'get-port'

/** A free TCP port below those that systems and Docker assign, so that nothing takes it before the test does. */
export const findFreePort = (): Promise<number> => getPort({ port: randomInt(10_000, 20_000) })
