import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** What a service has sent to PostgreSQL. */
export interface Sent {
  statements: number
  /** Times it waited for an answer. */
  roundTrips: number
}

export interface StatementCounter extends AsyncDisposable {
  /** The database's, through this counter. */
  url: string
  sent: Sent
}

/** Messages of PostgreSQL's protocol, version 3: Execute, Query; Sync and Query are answered with ReadyForQuery. */
const STATEMENTS = new Set(['E', 'Q'])
const AWAITED = new Set(['S', 'Q'])

/** Listens before a database and counts the statements that pass. The connection is not encrypted. */
export async function countStatements(databaseUrl: string): Promise<StatementCounter> {
  const sent = { statements: 0, roundTrips: 0 }
  const target = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => client.destroy())
      socket.on('close', () => sockets.delete(socket))
    }
    // What is sent before the answer to it arrives belongs to one round trip.
    let isAnswered = true
    upstream.on('data', () => {
      isAnswered = true
    })
    upstream.pipe(client)
    const read = createReader((type) => {
      if (STATEMENTS.has(type)) sent.statements++
      if (!AWAITED.has(type) || !isAnswered) return
      isAnswered = false
      sent.roundTrips++
    })
    client.on('data', (bytes) => {
      read(bytes)
      upstream.write(bytes)
    })
    client.on('end', () => upstream.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: url.href,
    sent,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Calls back with the type of each message; the first of a connection has none. */
function createReader(onMessage: (type: string) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0)
  let isFirst = true
  return (bytes) => {
    rest = Buffer.concat([rest, bytes])
    for (;;) {
      const header = isFirst ? 0 : 1
      if (rest.length < header + 4) return
      const end = header + rest.readInt32BE(header)
      if (rest.length < end) return
      if (!isFirst) onMessage(String.fromCharCode(rest[0] ?? 0))
      isFirst = false
      rest = rest.subarray(end)
    }
  }
}
