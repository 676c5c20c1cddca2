import type { DriverErrors } from '../database.ts'

/** Errors of a server that has become a replica: the same name now leads to another server. */
const READ_ONLY = [
  'ER_OPTION_PREVENTS_STATEMENT',
  'ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION',
  'ER_READ_ONLY_MODE',
  // SQLSTATE, of `ping`: read-only SQL transaction.
  '25006',
] as const

/** Errors of a node that takes no part in its cluster: of Galera, where it is not synced, and of Group Replication. */
const OUTSIDE = [
  'ER_UNKNOWN_COM_ERROR',
  'ER_RUN_HOOK_ERROR',
  'ER_GRP_TRX_CONSISTENCY_BEFORE',
  'ER_GRP_TRX_CONSISTENCY_NOT_ALLOWED',
] as const

/** The meaning of the errors of mysql2, MySQL and MariaDB. */
export const mysqlErrors: DriverErrors = {
  // mysql2's own names, the server's, and SQLSTATE: 08 connection exception.
  unavailable: new RegExp(
    `^(${[
      'PROTOCOL_CONNECTION_LOST',
      'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR',
      'PROTOCOL_SEQUENCE_TIMEOUT',
      'ER_ACCESS_DENIED_ERROR',
      'ER_DBACCESS_DENIED_ERROR',
      'ER_BAD_DB_ERROR',
      'ER_SERVER_SHUTDOWN',
      'ER_CONNECTION_KILLED',
      'ER_OUTOFMEMORY',
      'ER_OUT_OF_SORTMEMORY',
      'ER_OUT_OF_RESOURCES',
      'ER_DISK_FULL',
      'ER_RECORD_FILE_FULL',
      'ER_ERROR_ON_WRITE',
      'ER_GET_ERRNO',
      'ER_TEMP_FILE_WRITE_FAILURE',
      ...OUTSIDE,
      ...READ_ONLY,
      '08...',
    ].join('|')})$`,
  ),
  busy: {
    'server full': /^(ER_CON_COUNT_ERROR|ER_TOO_MANY_USER_CONNECTIONS|ER_USER_LIMIT_REACHED)$/,
    locked: /^ER_LOCK_WAIT_TIMEOUT$/,
    // SQLSTATE 70100: query interrupted.
    slow: /^(ER_QUERY_TIMEOUT|70100)$/,
  },
  unavailableMessage: /closed state|Pool is closed/i,
  endsConnection: new RegExp(
    `^(${['PROTOCOL_SEQUENCE_TIMEOUT', 'ER_SERVER_SHUTDOWN', 'ER_CONNECTION_KILLED', ...OUTSIDE, ...READ_ONLY].join('|')})$`,
  ),
  // SQLSTATE 40001: deadlock. ER_CHECKREAD: MariaDB's snapshot isolation found a newer row. The other two: Group Replication
  // refuses a commit, since another node has changed the same row.
  conflict:
    /^(ER_LOCK_DEADLOCK|ER_CHECKREAD|ER_TRANSACTION_ROLLBACK_DURING_COMMIT|ER_ERROR_DURING_COMMIT|40001)$/,
  refusedValue: /^(ER_DATA_TOO_LONG|ER_TRUNCATED_WRONG_VALUE_FOR_FIELD)$/,
  violatedIndex(error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ER_DUP_ENTRY') return undefined
    const message = 'sqlMessage' in error ? String(error.sqlMessage) : ''
    // MySQL: Duplicate entry 'x' for key 'users.ix_email'; MariaDB names only the key.
    return /for key '(?:[^']*\.)?([^'.]+)'$/.exec(message)?.[1] ?? 'unknown'
  },
}
