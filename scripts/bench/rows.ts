import type { HostName } from './run/hosts.ts'
import type { LoadOrder } from './run/load.ts'
import { PASSWORD, type Scheme, type Target } from './run/target.ts'

/** A request that Latchkey and others answer alike. */
export interface HttpRow {
  name: string
  /** Latchkey is the first. */
  hosts: readonly HostName[]
  path: string
  order(target: Target, seconds: number): Omit<LoadOrder, 'url' | 'seconds'>
}

const PEER = 'fastify + @fastify/jwt + pg'
const CONNECTIONS = 64
/** Tokens signed for each second of a load: more than its requests use, so that each is sent once. */
const FRESH_A_SECOND = 40_000
/** A reset is answered at the next boundary of 25 ms, so throughput needs many at a time. */
const RESET_CONNECTIONS = 256

/** The request of a row; what all have need not be given. */
type Request = Pick<LoadOrder, 'method'> & Partial<LoadOrder>

const row = (
  name: string,
  path: string,
  requestOf: (target: Target, seconds: number) => Request,
  hosts: readonly HostName[] = ['latchkey', PEER],
): HttpRow => ({
  name,
  hosts,
  path,
  order: (...given) => ({ connections: CONNECTIONS, status: 200, ...requestOf(...given) }),
})

const tokens = ({ jwtSecret, issuer, users }: Target, count: number) => ({
  secret: jwtSecret,
  issuer,
  userids: users.sha1.map(({ userid }) => userid),
  count,
})

const json = (values: readonly object[]) => values.map((value) => JSON.stringify(value))

const logins = ({ users }: Target, scheme: Scheme, connections = CONNECTIONS): Request => ({
  method: 'POST',
  connections,
  bodies: json(users[scheme].map(({ email }) => ({ username: email, password: PASSWORD }))),
})

const PING = '/sampleprotected/ping'
const PING_HOSTS = ['latchkey', PEER, 'fastify'] as const
const SHA1_HOSTS = ['latchkey, PASSWORD_HASH=sha1', PEER] as const

/** Every request that is measured by throughput and processor time. */
export const HTTP_ROWS: readonly HttpRow[] = [
  row('ping, remembered token', PING, (target) => ({ method: 'GET', tokens: tokens(target, 1) }), PING_HOSTS),
  row(
    'ping, fresh tokens',
    PING,
    (target, seconds) => ({ method: 'GET', tokens: tokens(target, FRESH_A_SECOND * seconds) }),
    PING_HOSTS,
  ),
  row('profile, read', '/profile', (target) => ({ method: 'GET', tokens: tokens(target, 256) })),
  row('profile, write', '/profile', (target) => ({
    method: 'PUT',
    tokens: tokens(target, 256),
    bodies: json([{ name: 'Ada' }, { name: 'Grace' }]),
  })),
  row('login, argon2id, 1 connection', '/login', (target) => logins(target, 'argon2id', 1)),
  row('login, argon2id', '/login', (target) => logins(target, 'argon2id')),
  row('login, sha1', '/login', (target) => logins(target, 'sha1'), SHA1_HOSTS),
  row('refresh', '/refreshtoken', (target, seconds) => ({
    method: 'POST',
    tokens: tokens(target, (FRESH_A_SECOND / 2) * seconds),
  })),
  row('reset request', '/login/resetrequest', ({ users }) => ({
    method: 'POST',
    connections: RESET_CONNECTIONS,
    bodies: json(users.sha1.map(({ email }) => ({ email }))),
  })),
]

/** The rows whose time shows what the database takes, which a hash of argon2id would hide. */
export const ROWS_WITHOUT_ARGON2 = HTTP_ROWS.filter(({ name }) => !name.startsWith('login, argon2id'))
