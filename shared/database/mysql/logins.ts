import type { LoginSql } from '../database.ts'

export const mysqlLogins: LoginSql = {
  // The server writes no password of this statement to its logs.
  // Doubled, a quote ends the text in no mode of SQL; `\'` would with NO_BACKSLASH_ESCAPES.
  create: ({ user, password }) =>
    `create user if not exists ${user} identified by '${password.replaceAll(/['\\]/g, '$&$&')}'`,
  grant: ({ user }, grants) =>
    grants.map(({ table, rights }) => `grant ${rights} on ${table} to ${user};`).join('\n'),
}
