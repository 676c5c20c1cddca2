import type { Server } from 'node:http'
import { ListenError } from './listen-error.ts'
import type { Lifecycle } from './run-service.ts'

/** The members of a Fastify instance that are used here. */
interface Listener {
  server: Pick<Server, 'closeIdleConnections'>
  listen(address: { host: string; port: number }): Promise<string>
  close(): PromiseLike<unknown>
}

export interface ListenOptions {
  host: string
  port: number
  /** The name of the setting that holds the port, for the error when the port is taken. */
  portSetting: string
}

const IDLE_SWEEP_MS = 50

/** Opens a server as a resource of the service; it stops accepting and answers what is in flight when the service stops. */
export function listen(
  lifecycle: Pick<Lifecycle, 'open'>,
  server: Listener,
  options: ListenOptions,
): Promise<string> {
  return lifecycle.open(
    () => bind(server, options),
    () => drain(server),
  )
}

async function bind(server: Listener, { host, port, portSetting }: ListenOptions): Promise<string> {
  try {
    return await server.listen({ host, port })
  } catch (error) {
    const advice = adviceFor(error, portSetting)
    if (advice === undefined) throw error
    throw new ListenError(`Cannot listen on ${host}:${port}: ${advice}`, { cause: error })
  }
}

/** Returns what to do where a server cannot listen; undefined for an unknown reason. */
export function adviceFor(error: unknown, portSetting: string): string | undefined {
  switch (error instanceof Error && 'code' in error && error.code) {
    case 'EADDRINUSE':
      return `another process listens there. Stop it, or set ${portSetting} to another port`
    case 'EACCES':
      return `this user may not open the port. Set ${portSetting} to 1024 or more`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'HOST is not an address of this machine. Set HOST=0.0.0.0 for all of its addresses, or HOST=127.0.0.1'
  }
  return undefined
}

async function drain(server: Listener): Promise<void> {
  // A connection that falls idle after its last answer would otherwise delay the close until it times out.
  const sweep = setInterval(() => server.server.closeIdleConnections(), IDLE_SWEEP_MS)
  try {
    await server.close()
  } finally {
    clearInterval(sweep)
  }
}
