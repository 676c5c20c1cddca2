import type { Dialect } from '../../database.ts'

/** SQLite in a file, by `node:sqlite`: shows what a third database takes. */
export const sqlite: Dialect = {
  name: 'sqlite',
  protocols: ['sqlite'],
  sql: {
    caseless: (expression) => `lower(${expression})`,
    isIn: (column, placeholder) => `${column} in (select value from json_each(${placeholder}))`,
    caselessIn: (column, placeholder) =>
      `lower(${column}) in (select lower(value) from json_each(${placeholder}))`,
    rowsOf: (_, columns, placeholder) =>
      `select ${columns.map((_, at) => `value ->> ${at}`).join(', ')} from json_each(${placeholder})`,
    forUpdate: '', // A transaction locks the whole database.
    keepExisting: (key) => `on conflict (${key}) do nothing`,
    keepUpdatedAt: { statement: 'update latchkey_session set keep_updated_at = 1', assignment: '' },
    columns: `select t.name as table_name, c.name as column_name
      from sqlite_schema t join pragma_table_info(t.name) c where t.type = 'table'`,
  },
  errors: {
    unavailable: /^SQLITE_(CANTOPEN|FULL)$/,
    conflict: /^SQLITE_BUSY$/,
    refusedValue: /^SQLITE_TOOBIG$/,
    violatedIndex: (error) =>
      error instanceof Error
        ? /^UNIQUE constraint failed: (?:index ')?(.+?)'?$/.exec(error.message)?.[1]
        : undefined,
  },
  toUuidValue: (uuid) => uuid,
  fromUuidValue: String,
  toRows: (_, rows) => rows,
  async open(url) {
    const { openSqlite } = await import('./open.ts')
    return openSqlite(sqlite, url)
  },
}
