import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { Database, Dialect, SqlParameter } from '../../database.ts'
import { createQueryable, type Driver } from '../../queryable.ts'
import { runTransaction } from '../../run-transaction.ts'
import { toAppError, toFinalError } from '../../to-app-error.ts'

export function openSqlite(dialect: Dialect, url: string): Database {
  const path = fileURLToPath(url.replace(/^sqlite:/, 'file:'))
  const shared = connect(path)
  const inTurn = createTurns()
  const inLock = createTurns()
  return {
    ...createQueryable(dialect, createDriver(shared), toFinalError),
    transaction: (work) =>
      runTransaction(
        (afterCommit) =>
          inTurn(async () => {
            using connection = connect(path)
            connection.exec('begin immediate')
            const queryable = createQueryable(dialect, createDriver(connection), toAppError)
            const result = await work({ ...queryable, afterCommit })
            connection.exec('commit') // Its end rolls back what did not come here.
            return result
          }),
        dialect.errors,
      ),
    runScript: async (sql) => shared.exec(sql),
    withLock: (_, work) => inLock(work),
    usage: () => ({ inUse: 0, waiting: 0 }),
    close: async () => shared.close(),
  }
}

function connect(path: string): DatabaseSync {
  const connection = new DatabaseSync(path, { timeout: 1_000 })
  connection.exec('pragma journal_mode = wal')
  // SQLite's own knows ASCII only.
  connection.function('lower', { deterministic: true }, (text) =>
    text === null ? null : String(text).toLowerCase(),
  )
  connection.function('char_length', { deterministic: true }, (text) => String(text).length)
  return connection
}

const createDriver = (connection: DatabaseSync): Driver => ({
  async query({ text }, values) {
    const statement = connection.prepare(text)
    const dates = dateColumns(statement)
    return statement.all(named(values)).map((row) => ({
      ...row,
      ...Object.fromEntries(dates.map((name) => [name, toDate(row[name])])),
    }))
  },
  async execute({ text }, values) {
    const statement = connection.prepare(text)
    // A statement may leave a value out, as PostgreSQL and MySQL allow.
    statement.setAllowUnknownNamedParameters(true)
    return Number(statement.run(named(values)).changes)
  },
})

const named = (values: readonly SqlParameter[]): Record<string, SQLInputValue> =>
  Object.fromEntries(values.map((value, index) => [`$${index + 1}`, toInput(value)]))

function toInput(value: SqlParameter): SQLInputValue {
  if (value instanceof Date) return value.toISOString()
  if (Array.isArray(value)) return JSON.stringify(value)
  return typeof value === 'boolean' ? Number(value) : (value as SQLInputValue)
}

const dateColumns = (statement: StatementSync): string[] =>
  statement
    .columns()
    .filter(({ type }) => type?.toLowerCase() === 'timestamp')
    .map(({ name }) => name)

const toDate = (value: unknown): Date | null =>
  typeof value === 'string' ? new Date(value.endsWith('Z') ? value : `${value.replace(' ', 'T')}Z`) : null

/** Runs one piece of work after the other. */
function createTurns() {
  let last: Promise<unknown> = Promise.resolve()
  return <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = last.then(work)
    last = turn.catch(() => undefined)
    return turn
  }
}
