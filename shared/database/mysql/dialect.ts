import type { Dialect } from '../database.ts'
import { mysqlAdoption } from './adoption.ts'
import { READ_ONLY } from './read-only.ts'

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
    // Assigned to itself, the column is not set to the current time.
    keepUpdatedAt: { statement: 'select 1', assignment: ', updated_at = updated_at' },
    // MySQL names the columns in capitals unless they are named here.
    columns: `select table_name as table_name, column_name as column_name
      from information_schema.columns where table_schema = database()`,
  },
  adoption: mysqlAdoption,
  errors: {
    // mysql2's own names, the server's, and SQLSTATE: 08 connection exception, 70100 query interrupted.
    unavailable: new RegExp(
      `^(${[
        'PROTOCOL_CONNECTION_LOST',
        'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
        'PROTOCOL_SEQUENCE_TIMEOUT',
        'ER_SERVER_SHUTDOWN',
        'ER_CON_COUNT_ERROR',
        'ER_TOO_MANY_USER_CONNECTIONS',
        'ER_USER_LIMIT_REACHED',
        'ER_CONNECTION_KILLED',
        'ER_LOCK_WAIT_TIMEOUT',
        'ER_QUERY_TIMEOUT',
        'ER_OUTOFMEMORY',
        'ER_OUT_OF_SORTMEMORY',
        'ER_OUT_OF_RESOURCES',
        'ER_DISK_FULL',
        'ER_RECORD_FILE_FULL',
        'ER_ERROR_ON_WRITE',
        'ER_GET_ERRNO',
        'ER_TEMP_FILE_WRITE_FAILURE',
        ...READ_ONLY,
        '08...',
        '70100',
      ].join('|')})$`,
    ),
    unavailableMessage: /closed state|Pool is closed/i,
    // SQLSTATE 40001: deadlock. ER_CHECKREAD: MariaDB's snapshot isolation found a newer row.
    conflict: /^(ER_LOCK_DEADLOCK|ER_CHECKREAD|40001)$/,
    refusedValue: /^(ER_DATA_TOO_LONG|ER_TRUNCATED_WRONG_VALUE_FOR_FIELD)$/,
    violatedIndex(error) {
      if (!(error instanceof Error) || !('code' in error) || error.code !== 'ER_DUP_ENTRY') return undefined
      const message = 'sqlMessage' in error ? String(error.sqlMessage) : ''
      // MySQL: Duplicate entry 'x' for key 'users.ix_email'; MariaDB names only the key.
      return /for key '(?:[^']*\.)?([^'.]+)'$/.exec(message)?.[1] ?? 'unknown'
    },
  },
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
