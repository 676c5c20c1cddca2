import type { Dialect, LoginSql } from '../database.ts'
import { mysqlAdoption } from './adoption.ts'
import { mysqlErrors } from './errors.ts'
import { findMissingRights } from './requirements.ts'

const mysqlLogins: LoginSql = {
  // The server writes no password of this statement to its logs.
  // Doubled, a quote ends the text in no mode of SQL; `\'` would with NO_BACKSLASH_ESCAPES.
  create: ({ user, password }) =>
    `create user if not exists ${user} identified by '${password.replaceAll(/['\\]/g, '$&$&')}'`,
  grant: ({ user }, grants) =>
    grants.map(({ table, rights }) => `grant ${rights} on ${table} to ${user};`).join('\n'),
}

/** MySQL and MariaDB, by mysql2. */
export const mysql: Dialect = {
  name: 'mysql',
  protocols: ['mysql', 'mariadb'],
  adoption: mysqlAdoption,
  findMissingRights,
  errors: mysqlErrors,
  logins: mysqlLogins,
  toUuidValue: (uuid) => Buffer.from(uuid.replaceAll('-', ''), 'hex'),
  fromUuidValue: (value) =>
    Buffer.from(value as Uint8Array)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  toRows: (_, rows) => rows,
  async open(url, options) {
    const { openMysql } = await import('./open.ts')
    return openMysql(mysql, url, options)
  },
}
