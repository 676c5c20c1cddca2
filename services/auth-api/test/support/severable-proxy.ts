import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface SeverableProxy extends AsyncDisposable {
  /** `url` with this proxy's host and port. */
  url: string
  /** Ends every connection and refuses new ones. */
  sever(): void
  /** Keeps connections open and forwards nothing, as after a network failure. */
  stall(): void
  /** Stalls only the present connections, as after a failover that closes no connection. */
  strand(): void
  restore(): void
}

/** Starts a proxy between a client and the server of `url` that can be cut. */
export async function startSeverableProxy(url: string): Promise<SeverableProxy> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const stranded = new WeakSet<Socket>()
  let state: 'open' | 'severed' | 'stalled' = 'open'
  const server = createServer((client) => {
    if (state === 'severed') return void client.destroy()
    const upstream = connect(Number(target.port), target.hostname)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('data', (chunk) => state === 'open' && !stranded.has(from) && to.write(chunk))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.hostname = '127.0.0.1'
  through.port = String((server.address() as AddressInfo).port)
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: through.href,
    sever() {
      state = 'severed'
      destroyAll()
    },
    stall() {
      state = 'stalled'
    },
    strand() {
      for (const socket of sockets) stranded.add(socket)
    },
    restore() {
      if (state === 'stalled') destroyAll()
      state = 'open'
    },
    async [Symbol.asyncDispose]() {
      destroyAll()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
