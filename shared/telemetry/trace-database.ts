import type { Database, Queryable } from '../database/database.ts'
import type { RunInSpan } from './tracing.ts'

/** Creates a span for each statement, named as the statement; it contains neither SQL nor values. */
export const traceDatabase = (db: Database, runInSpan: RunInSpan): Database => ({
  ...db,
  ...traceStatements(db, runInSpan),
  transaction: (work) =>
    db.transaction((transaction) => work({ ...transaction, ...traceStatements(transaction, runInSpan) })),
})

function traceStatements(db: Queryable, runInSpan: RunInSpan): Pick<Queryable, 'query' | 'execute'> {
  const attributes = { 'db.system.name': SYSTEM_NAMES[db.dialect.name] ?? db.dialect.name }
  const inSpan = <Result>(name: string, work: () => Promise<Result>) =>
    runInSpan(name, { ...attributes, 'db.query.summary': name }, work)
  return {
    query: (statement, values) => inSpan(statement.name, () => db.query(statement, values)),
    execute: (statement, values) => inSpan(statement.name, () => db.execute(statement, values)),
  }
}

/** The names of OpenTelemetry. */
const SYSTEM_NAMES: Readonly<Record<string, string>> = { postgres: 'postgresql' }
