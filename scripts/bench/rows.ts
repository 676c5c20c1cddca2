import type { HostName } from './run/hosts.ts'
import type { LoadOrder } from './run/load.ts'
import { PASSWORD, type Scheme, type Target } from './run/target.ts'

/** A path that Latchkey and others answer alike. */
export interface HttpRow {
  name: string
  /** Latchkey is the first. */
  hosts: readonly HostName[]
  path: string
  order(target: Target, seconds: number): Omit<LoadOrder, 'url' | 'seconds'>
  /** Logins that other connections send at the same time. */
  besides?: (target: Target) => Omit<LoadOrder, 'url' | 'seconds'>
  /** How long nothing is sent between the warm-up and the measurement. */
  pauseMs?: number
}

const PEER = 'fastify + @fastify/jwt + pg'
const CONNECTIONS = 64
/** Tokens signed for each second of a load: more than its requests use, so that each is sent once. */
const FRESH_A_SECOND = 40_000
/** A rate below saturation, at which a latency is that of the service and not of its queue. */
const STEADY_RATE = 1_000
/** A reset is answered at the next boundary of 25 ms, so throughput needs many at a time. */
const RESET_CONNECTIONS = 256

const tokens = ({ jwtSecret, issuer, users }: Target, count: number) => ({
  secret: jwtSecret,
  issuer,
  userids: users.sha1.map(({ userid }) => userid),
  count,
})

const json = (values: readonly object[]) => values.map((value) => JSON.stringify(value))

const logins = (scheme: Scheme, connections: number) => (target: Target) => ({
  method: 'POST' as const,
  connections,
  status: 200,
  bodies: json(target.users[scheme].map(({ email }) => ({ username: email, password: PASSWORD }))),
})

const ping = (
  name: string,
  options: { isFresh?: boolean; isSteady?: boolean; isBusy?: boolean; pauseMs?: number } = {},
): HttpRow => ({
  name,
  path: '/sampleprotected/ping',
  hosts: options.isSteady ? ['latchkey', PEER] : ['latchkey', PEER, 'fastify'],
  order: (target, seconds) => ({
    method: 'GET',
    connections: options.isSteady ? 16 : CONNECTIONS,
    status: 200,
    tokens: tokens(target, options.isFresh ? FRESH_A_SECOND * seconds : 1),
    ...(options.isSteady ? { rate: STEADY_RATE } : {}),
  }),
  ...(options.pauseMs ? { pauseMs: options.pauseMs } : {}),
  ...(options.isBusy ? { besides: logins('argon2id', 16) } : {}),
})

const login = (name: string, scheme: Scheme, connections: number): HttpRow => ({
  name,
  path: '/login',
  hosts: scheme === 'sha1' ? ['latchkey, PASSWORD_HASH=sha1', PEER] : ['latchkey', PEER],
  order: logins(scheme, connections),
})

/** Every path that is measured by throughput and processor time. */
export const HTTP_ROWS: readonly HttpRow[] = [
  ping('ping, remembered token'),
  ping('ping, fresh tokens', { isFresh: true }),
  ping('ping, 1,000 a second', { isSteady: true }),
  ping('ping, 1,000 a second during logins', { isSteady: true, isBusy: true }),
  ping('ping, 1,000 a second after a pause', { isSteady: true, pauseMs: 2_000 }),
  {
    name: 'profile, read',
    path: '/profile',
    hosts: ['latchkey', PEER],
    order: (target) => ({
      method: 'GET',
      connections: CONNECTIONS,
      status: 200,
      tokens: tokens(target, 256),
    }),
  },
  {
    name: 'profile, write',
    path: '/profile',
    hosts: ['latchkey', PEER],
    order: (target) => ({
      method: 'PUT',
      connections: CONNECTIONS,
      status: 200,
      tokens: tokens(target, 256),
      bodies: json([{ name: 'Ada' }, { name: 'Grace' }]),
    }),
  },
  login('login, argon2id, 1 connection', 'argon2id', 1),
  login('login, argon2id', 'argon2id', CONNECTIONS),
  login('login, sha1', 'sha1', CONNECTIONS),
  {
    name: 'refresh',
    path: '/refreshtoken',
    hosts: ['latchkey', PEER],
    order: (target, seconds) => ({
      method: 'POST',
      connections: CONNECTIONS,
      status: 200,
      tokens: tokens(target, (FRESH_A_SECOND / 2) * seconds),
    }),
  },
  {
    name: 'reset request',
    path: '/login/resetrequest',
    hosts: ['latchkey', PEER],
    order: (target) => ({
      method: 'POST',
      connections: RESET_CONNECTIONS,
      status: 200,
      bodies: json(target.users.sha1.map(({ email }) => ({ email }))),
    }),
  },
]
