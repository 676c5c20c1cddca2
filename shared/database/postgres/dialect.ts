import type { Dialect } from '../database.ts'
import { postgresAdoption } from './adoption.ts'
import { postgresErrors } from './errors.ts'
import { folded } from './folded.ts'
import { postgresLogins } from './logins.ts'

/** PostgreSQL, by pg-promise. */
export const postgres: Dialect = {
  name: 'postgres',
  protocols: ['postgres', 'postgresql'],
  sql: {
    caseless: folded,
    isIn: (column, placeholder) => `${column} = any(${placeholder})`,
    caselessIn: (column, placeholder) =>
      `${folded(column)} in (select ${folded('listed')} from unnest(${placeholder}::text[]) as listed)`,
    rowsOf: (table, columns, placeholder) =>
      `select ${columns.join(', ')} from json_populate_recordset(null::${table}, ${placeholder})`,
    forUpdate: 'for update',
    keepExisting: (key) => `on conflict (${key}) do nothing`,
    updateExisting: (key) => `on conflict (${key}) do update set`,
    // The trigger on `users` reads it.
    keepUpdatedAt: {
      statement: "select set_config('latchkey.keep_updated_at', 'on', true)",
      assignment: '',
    },
    columns: `select table_name, column_name from information_schema.columns
      where table_schema = current_schema()`,
    isReadOnly: "current_setting('transaction_read_only') = 'on'",
  },
  adoption: postgresAdoption,
  errors: postgresErrors,
  logins: postgresLogins,
  toUuidValue: (uuid) => uuid,
  fromUuidValue: String,
  toRows: (columns, rows) =>
    JSON.stringify(rows.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at]])))),
  async open(url, options) {
    const { openPostgres } = await import('./open.ts')
    return openPostgres(postgres, url, options)
  },
}
