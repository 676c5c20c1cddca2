import type { Dialect, LoginSql } from '../database.ts'
import { grantStatements, revokeStatements } from '../rights-sql.ts'
import { mysqlAdoption } from './adoption.ts'
import { mysqlErrors } from './errors.ts'
import { findMissingRights } from './requirements.ts'

const mysqlLogins: LoginSql = {
  // The server writes no password of this statement to its logs.
  // Doubled, a quote ends the text in no mode of SQL; `\'` would with NO_BACKSLASH_ESCAPES.
  create: ({ user, password }) =>
    `create user if not exists ${user} identified by '${password.replaceAll(/['\\]/g, '$&$&')}'`,
  // To revoke what was never granted is an error, which MySQL lets a clause pass over, and MariaDB a handler of a block.
  grant: ({ user }, grants) =>
    `${grantStatements(user, grants)}
    /*M!100301 begin not atomic declare continue handler for 1141, 1147 begin end; */
    ${revokeStatements(user, grants, 'revoke /*!80030 if exists */')}
    /*M!100301 end */`,
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
