import type { Dialect } from '../database.ts'
import { postgresAdoption } from './adoption.ts'

/** PostgreSQL, by pg-promise. */
export const postgres: Dialect = {
  name: 'postgres',
  protocols: ['postgres', 'postgresql'],
  sql: {
    caseless: (expression) => `lower(${expression})`,
    isIn: (column, placeholder) => `${column} = any(${placeholder})`,
    caselessIn: (column, placeholder) =>
      `lower(${column}) in (select lower(listed) from unnest(${placeholder}::text[]) as listed)`,
    rowsOf: (table, columns, placeholder) =>
      `select ${columns.join(', ')} from json_populate_recordset(null::${table}, ${placeholder})`,
    forUpdate: 'for update',
    keepExisting: (key) => `on conflict (${key}) do nothing`,
    // The trigger on `users` reads it.
    keepUpdatedAt: {
      statement: "select set_config('latchkey.keep_updated_at', 'on', true)",
      assignment: '',
    },
    columns: `select table_name, column_name from information_schema.columns
      where table_schema = current_schema()`,
  },
  adoption: postgresAdoption,
  errors: {
    // SQLSTATE 08: connection exception. 25006: read-only, as a standby is. 26000: a prepared statement that could not be
    // prepared by the statement before it. 53: insufficient resources. 55P03: lock not available. 57014: query canceled.
    // 57P: operator intervention. 58030: I/O error.
    unavailable: /^(08...|25006|26000|53...|55P03|57014|57P0[1235]|58030)$/,
    unavailableMessage:
      /Connection terminated|timeout exceeded when trying to connect|Connection ended unexpectedly|Client has encountered a connection error|closed state|Query read timeout/i,
    // Serialization failure, deadlock detected.
    conflict: /^(40001|40P01)$/,
    // String data right truncation, character not in repertoire, untranslatable character.
    refusedValue: /^(22001|22021|22P05)$/,
    violatedIndex(error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== '23505') return undefined
      return 'constraint' in error ? String(error.constraint) : 'unknown'
    },
  },
  toUuidValue: (uuid) => uuid,
  fromUuidValue: String,
  toRows: (columns, rows) =>
    JSON.stringify(rows.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at]])))),
  async open(url, options) {
    const { openPostgres } = await import('./open.ts')
    return openPostgres(postgres, url, options)
  },
}
