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

/** The same text each time, which pg compares with that of the prepared statement. */
const texts = new WeakMap<Dialect, WeakMap<Statement, SqlText>>()

function textOf(dialect: Dialect, statement: Statement): SqlText {
  const { name, text } = statement
  if (typeof text === 'string') return { name, text }
  const known = texts.get(dialect)?.get(statement)
  if (known !== undefined) return known
  const resolved = { name, text: text(dialect.sql) }
  const ofDialect = texts.get(dialect) ?? new WeakMap<Statement, SqlText>()
  texts.set(dialect, ofDialect.set(statement, resolved))
  return resolved
}
