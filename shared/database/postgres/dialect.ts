import type { Dialect } from '../database.ts'
import { postgresAdoption } from './adoption.ts'
import { postgresErrors } from './errors.ts'
import { postgresLogins } from './logins.ts'
import { findMissingRights, findTextFault } from './requirements.ts'

/** PostgreSQL, by pg-promise. */
export const postgres: Dialect = {
  name: 'postgres',
  protocols: ['postgres', 'postgresql'],
  adoption: postgresAdoption,
  findTextFault,
  findMissingRights,
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
