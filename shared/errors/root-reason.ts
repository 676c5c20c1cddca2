interface Plain {
  /** Matches the code of an error of Node, a driver or SQL, or its message. */
  readonly of: RegExp
  readonly reason: string
  /** The words of the server follow in brackets, since they say more. */
  readonly isDetailed?: boolean
}

/** Messages that an operator understands, in place of the words of a driver. */
const PLAIN: readonly Plain[] = [
  {
    of: /^(Stream isn't writeable|Connection is closed|Command timed out|Socket timeout|Cluster isn't ready|None of startup nodes)/,
    reason: 'Redis is unavailable',
  },
  {
    of: /No such master with that name/,
    reason: 'the Sentinels know no server of that name; correct what follows # in QUEUE_URL',
  },
  {
    of: /^All sentinels are unreachable/,
    reason: 'no Sentinel names the server',
    isDetailed: true,
  },
  {
    of: /cluster support disabled/,
    reason: 'the server is not part of a cluster; write redis:// in QUEUE_URL',
  },
  { of: /^MISCONF/, reason: 'Redis cannot write to its disk', isDetailed: true },
  {
    of: /^NOPERM/,
    reason: 'the login of Redis lacks a right; see docs/how-to/restrict-redis-rights.md',
    isDetailed: true,
  },
  { of: /^OOM command not allowed/, reason: 'the memory of Redis is full' },
  {
    of: /^(53100|ER_DISK_FULL|ER_RECORD_FILE_FULL)$|^(?!SMTP).*No space left on device/,
    reason: 'the disk of the database is full',
  },
  {
    of: /^(28000|28P01|ER_ACCESS_DENIED_ERROR|WRONGPASS|NOAUTH|SASL authentication failed)\b/,
    reason: 'the server refuses the user name or the password',
    isDetailed: true,
  },
  {
    of: /^(25006|ER_OPTION_PREVENTS_STATEMENT|ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION|ER_READ_ONLY_MODE)$/,
    reason:
      'the database is read-only: a replica, or default_transaction_read_only is on; the URL must lead to the primary',
  },
  {
    of: /^(ER_GRP_TRX_CONSISTENCY_(BEFORE|NOT_ALLOWED)|ER_RUN_HOOK_ERROR)$|^WSREP has not yet prepared node/,
    reason: 'the database node is not in a cluster with a majority; start the other nodes',
    isDetailed: true,
  },
  {
    of: /^(53300|ER_CON_COUNT_ERROR|ER_TOO_MANY_USER_CONNECTIONS|ER_USER_LIMIT_REACHED)$/,
    reason: 'the server accepts no more connections',
    isDetailed: true,
  },
  { of: /^(55P03|ER_LOCK_WAIT_TIMEOUT)$/, reason: 'waits for a lock' },
  {
    of: /^(26000|42P05)$/,
    reason: 'a prepared statement got lost; in PgBouncer (1.21 or later), set max_prepared_statements',
    isDetailed: true,
  },
  {
    of: /not allowed in statement pooling mode/,
    reason: 'the pooler refuses transactions; in PgBouncer, set pool_mode = transaction',
  },
  {
    of: /server_login_retry|^query_wait_timeout|^server conn crashed/,
    reason: 'the pooler reaches no primary',
    isDetailed: true,
  },
  {
    of: /^unsupported startup parameter/,
    reason:
      'a pooler refuses an option; connect a queue in PostgreSQL to the server itself, all else to PgBouncer 1.21 or later',
    isDetailed: true,
  },
  {
    of: /self-signed certificate|unable to (verify the first|get (local )?issuer) certificate/,
    reason: 'the certificate is not trusted; name its authority in NODE_EXTRA_CA_CERTS',
    isDetailed: true,
  },
  {
    of: /^(3D000|ER_BAD_DB_ERROR|ER_DBACCESS_DENIED_ERROR)$/,
    reason: 'the server has no such database, or refuses it to this user',
    isDetailed: true,
  },
]

/** The reason of a failure, for an operator: what its innermost cause says. Errors of several attempts have a code and no message. */
export function rootReason(error: unknown): string {
  if (!(error instanceof Error)) return ''
  // The client of a cluster of Redis keeps there what the servers said.
  const inner = 'lastNodeError' in error ? error.lastNodeError : error.cause
  if (inner instanceof Error) return rootReason(inner)
  const code = 'code' in error ? String(error.code) : ''
  const plain = PLAIN.find(({ of }) => of.test(code) || of.test(error.message))
  if (!plain) return error.message || code
  return plain.isDetailed ? `${plain.reason} (${error.message})` : plain.reason
}
