import type { Dialect, LoginSql } from '../database.ts'
import { mysqlAdoption } from './adoption.ts'
import { mysqlErrors } from './errors.ts'

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
  sql: {
    // The collation of the columns ignores case; lower() would keep the index from being used.
    caseless: (expression) => expression,
    isIn: (column, placeholder) => `${column} in (${placeholder})`,
    caselessIn: (column, placeholder) => `${column} in (${placeholder})`,
    rowsOf: (_, __, placeholder) => `values ${placeholder}`,
    forUpdate: 'for update',
    // Not `insert ignore`, which ignores other faults too.
    keepExisting: (key) => `on duplicate key update ${key} = ${key}`,
    updateExisting: () => 'on duplicate key update',
    // Assigned to itself, the column is not set to the current time.
    keepUpdatedAt: { statement: 'select 1', assignment: ', updated_at = updated_at' },
    // MySQL names the columns in capitals unless they are named here.
    columns: `select table_name as table_name, column_name as column_name
      from information_schema.columns where table_schema = database()`,
    isReadOnly: '@@global.read_only = 1 or @@global.innodb_read_only = 1',
  },
  adoption: mysqlAdoption,
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
