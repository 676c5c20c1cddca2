import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

/** Tells whether something listens on `port` already. */
export async function isPortTaken(host: string, port: number): Promise<boolean> {
  try {
    await listenBriefly(host, port)
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
  }
}

/** `preferred` when nothing listens there, else, and for 0, some free port. */
export async function freePort(host: string, preferred: number): Promise<number> {
  return preferred === 0 || (await isPortTaken(host, preferred)) ? listenBriefly(host, 0) : preferred
}

async function listenBriefly(host: string, port: number): Promise<number> {
  const server = createServer().listen(port, host)
  await once(server, 'listening')
  const { port: given } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return given
}
