import { expect, it } from 'vitest'
import { AppError } from './app-error.ts'
import { rootReason } from './root-reason.ts'

const coded = (code: string, message = 'in the words of a driver') =>
  Object.assign(new Error(message), { code })

it.each([
  {
    error: new Error("Stream isn't writeable and enableOfflineQueue options is false"),
    reason: 'Redis is unavailable',
  },
  {
    error: new Error('MISCONF Errors writing to the AOF file: No space left on device'),
    reason:
      'Redis cannot write to its disk (MISCONF Errors writing to the AOF file: No space left on device)',
  },
  {
    error: new Error('SMTP MAIL FROM: 452 No space left on device'),
    reason: 'SMTP MAIL FROM: 452 No space left on device',
  },
  {
    error: new Error("NOPERM User latchkey has no permissions to run the 'info' command"),
    reason:
      "the login of Redis lacks a right; see docs/how-to/restrict-redis-rights.md (NOPERM User latchkey has no permissions to run the 'info' command)",
  },
  {
    error: new Error('OOM command not allowed when used memory > maxmemory'),
    reason: 'the memory of Redis is full',
  },
  {
    error: new Error('ERR This instance has cluster support disabled'),
    reason: 'the server is not part of a cluster; write redis:// in QUEUE_URL',
  },
  {
    error: new Error(
      'All sentinels are unreachable. Retrying from scratch after 100ms. Last error: ERR No such master with that name',
    ),
    reason: 'the Sentinels know no server of that name; correct what follows # in QUEUE_URL',
  },
  {
    error: coded('HANDSHAKE_SSL_ERROR', 'self-signed certificate in certificate chain'),
    reason:
      'the certificate is not trusted; name its authority in NODE_EXTRA_CA_CERTS (self-signed certificate in certificate chain)',
  },
  { error: coded('53100'), reason: 'the disk of the database is full' },
  { error: coded('ER_RECORD_FILE_FULL'), reason: 'the disk of the database is full' },
  {
    error: coded('28P01', 'password authentication failed for user "latchkey"'),
    reason:
      'the server refuses the user name or the password (password authentication failed for user "latchkey")',
  },
  {
    error: new Error('WRONGPASS invalid username-password pair or user is disabled.'),
    reason:
      'the server refuses the user name or the password (WRONGPASS invalid username-password pair or user is disabled.)',
  },
  {
    error: coded('3D000', 'database "shop" does not exist'),
    reason: 'the server has no such database, or refuses it to this user (database "shop" does not exist)',
  },
  {
    error: coded('25006', 'cannot execute UPDATE in a read-only transaction'),
    reason:
      'the database is read-only: a replica, or default_transaction_read_only is on; the URL must lead to the primary',
  },
  {
    error: coded('ER_UNKNOWN_COM_ERROR', 'WSREP has not yet prepared node for application use'),
    reason:
      'the database node is not in a cluster with a majority; start the other nodes (WSREP has not yet prepared node for application use)',
  },
  {
    error: coded('ER_GRP_TRX_CONSISTENCY_NOT_ALLOWED', 'The option cannot be used'),
    reason:
      'the database node is not in a cluster with a majority; start the other nodes (The option cannot be used)',
  },
  {
    error: coded('42P05', 'prepared statement "token-status" already exists'),
    reason:
      'a prepared statement got lost; in PgBouncer (1.21 or later), set max_prepared_statements (prepared statement "token-status" already exists)',
  },
  {
    error: coded('08P01', 'transaction blocks not allowed in statement pooling mode'),
    reason: 'the pooler refuses transactions; in PgBouncer, set pool_mode = transaction',
  },
  {
    error: coded('08P01', 'query_wait_timeout'),
    reason: 'the pooler reaches no primary (query_wait_timeout)',
  },
  { error: coded('ECONNREFUSED', ''), reason: 'ECONNREFUSED' },
  { error: new Error('connect ECONNREFUSED 127.0.0.1:1'), reason: 'connect ECONNREFUSED 127.0.0.1:1' },
  { error: 'not an error', reason: '' },
])('says for an operator: $reason', ({ error, reason }) => {
  expect(rootReason(error)).toBe(reason)
  if (error instanceof Error)
    expect(rootReason(new AppError('unavailable', 'The database cannot be reached', { cause: error }))).toBe(
      reason,
    )
})
