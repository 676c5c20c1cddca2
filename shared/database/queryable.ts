import type { Dialect, DriverErrors, Queryable, SqlParameter, Statement } from './database.ts'
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
    query: <Row extends object>(statement: Statement, values: readonly SqlParameter[] = []) =>
      // The caller names the row's type; nothing checks it.
      translating(() => driver.query(resolve(statement), values) as Promise<Row[]>, translate),
    execute: (statement, values = []) =>
      translating(() => driver.execute(resolve(statement), values), translate),
  }
}

const textOf = (dialect: Dialect, { name, text }: Statement): SqlText => ({
  name,
  text: typeof text === 'string' ? text : text[dialect.name],
})
