import type pg from 'pg'

export type Send = (query: pg.QueryConfig) => Promise<pg.QueryResult>

interface Waiting {
  query: pg.QueryConfig
  resolve: (result: pg.QueryResult) => void
  reject: (error: unknown) => void
}

/** Statements of one connection at a time. More would gain little, and wait for one another. */
const MAX_STATEMENTS = 16

export interface StatementQueue {
  /** Runs a statement that belongs to no transaction. */
  send: Send
  /** Statements that wait behind the one that the pool has been asked a connection for. */
  size(): number
}

/**
 * Sends the statements that arrive in the same turn of the event loop over one connection, without waiting for an answer
 * in between, so that they share its writes and reads. Each of them is a transaction of its own.
 */
export function createStatementQueue(pool: pg.Pool): StatementQueue {
  const waiting: Waiting[] = []
  let isConnecting = false

  async function sendSome(): Promise<void> {
    isConnecting = true
    const connected = await pool.connect().then(
      (client) => ({ client }),
      (error: unknown) => ({ error }),
    )
    isConnecting = false
    const some = waiting.splice(0, MAX_STATEMENTS)
    if (waiting.length > 0) setImmediate(sendSome)
    if ('error' in connected) for (const { reject } of some) reject(connected.error)
    else await run(connected.client, some)
  }

  return {
    send: (query) =>
      new Promise((resolve, reject) => {
        if (waiting.push({ query, resolve, reject }) === 1) setImmediate(sendSome)
      }),
    size: () => waiting.length - (isConnecting ? 1 : 0),
  }
}

/** Runs the statements on a client of the pool, and releases it when all of them have ended. */
async function run(client: pg.PoolClient, statements: readonly Waiting[]): Promise<void> {
  const sent = sendTogether(client, () =>
    statements.map(({ query, resolve, reject }) => client.query(query).then(resolve, reject)),
  )
  await Promise.all(sent)
  release(client)
}

/** Gives a client back to its pool, which drops one whose connection is broken. */
export const release = (client: pg.PoolClient): void => client.release(client.connection.stream.destroyed)

/** Sends what `work` queries, until its first wait, by one write. */
export function sendTogether<Result>({ connection: { stream } }: pg.PoolClient, work: () => Result): Result {
  stream.cork()
  try {
    return work()
  } finally {
    stream.uncork()
  }
}
