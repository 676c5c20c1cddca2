import type { Dialect, DialectName, DriverErrors, Queryable, SqlParameter, Statement } from './database.ts'
import { translating } from './to-app-error.ts'

/** A driver's own way to run a prepared statement. */
export interface Driver {
  query(statement: SqlText, values: readonly SqlParameter[]): Promise<object[]>
  execute(statement: SqlText, values: readonly SqlParameter[]): Promise<number>
}

/** A statement in the words of one dialect. */
export interface SqlText {
  readonly name: string
  readonly text: string
}

/** Runs statements on `driver` in the words of `dialect`; throws what `toError` makes of the driver's errors. */
export function createQueryable(
  dialect: Dialect,
  driver: Driver,
  toError: (error: unknown, errors: DriverErrors) => unknown,
): Queryable {
  const resolve = (statement: Statement): SqlText => textOf(dialect, statement)
  const translate = (error: unknown) => toError(error, dialect.errors)
  return {
    dialect,
    toUuidValue: dialect.toUuidValue,
    fromUuidValue: dialect.fromUuidValue,
    async query<Row extends object>(statement: Statement, values: readonly SqlParameter[] = []) {
      const rows = await translating(() => driver.query(resolve(statement), values), translate)
      requireReadableTimes(rows, dialect)
      // The caller names the row's type; nothing checks it.
      return rows as Row[]
    },
    execute: (statement, values = []) =>
      translating(() => driver.execute(resolve(statement), values), translate),
  }
}

const textOf = (dialect: Dialect, { name, text }: Statement): SqlText => ({
  name,
  text: typeof text === 'string' ? text : text[dialect.name],
})

const LIKELY_CAUSE: Readonly<Record<DialectName, string>> = {
  postgres: 'the session writes times in another style than ISO; set DateStyle of the database to ISO',
  mysql: 'it is the zero date (0000-00-00); set it to null or to a time',
}

/** No time that the driver could not read may pass for none: null means *not deleted*, *not revoked* or *not used*. */
function requireReadableTimes(rows: readonly object[], { name }: Dialect): void {
  for (const row of rows)
    for (const [column, value] of Object.entries(row))
      if (value instanceof Date && Number.isNaN(value.getTime()))
        throw new Error(`The time in the column ${column} cannot be read: ${LIKELY_CAUSE[name]}`)
}
