import { closestName } from '@latchkey/text/closest-name.ts'
import type { Fault } from './fault.ts'
import { findTlsFault, isTlsOption, TLS_OPTIONS } from './tls-options.ts'

const ANY = /./s
const BOOLEAN = /^(true|false)$/
const NUMBER = /^\d+$/

type Options = Readonly<Record<string, RegExp>>

const POSTGRES: Options = {
  host: ANY,
  port: NUMBER,
  user: ANY,
  password: ANY,
  options: ANY,
  application_name: ANY,
  fallback_application_name: ANY,
  lock_timeout: NUMBER,
  idle_in_transaction_session_timeout: NUMBER,
  // `sslmode` has this meaning here without it.
  uselibpqcompat: /^true$/,
}
const MYSQL: Options = {
  socketPath: ANY,
  localAddress: ANY,
  compress: BOOLEAN,
  enableCleartextPlugin: BOOLEAN,
  idleTimeout: NUMBER,
  keepAliveInitialDelay: NUMBER,
  // Every connection has it.
  charset: /^utf8mb4$/i,
}
const SENTINEL: Options = { sentinelMasterId: ANY, sentinelUsername: ANY, sentinelPassword: ANY }
const REDIS: Options = { db: NUMBER, family: /^[046]$/, connectionName: ANY }
const SMTP: Options = {
  name: ANY,
  localAddress: ANY,
  authMethod: ANY,
  ignoreTLS: BOOLEAN,
  requireTLS: BOOLEAN,
  opportunisticTLS: BOOLEAN,
  connectionTimeout: NUMBER,
  greetingTimeout: NUMBER,
  socketTimeout: NUMBER,
  dnsTimeout: NUMBER,
  maxMessages: NUMBER,
  'tls.rejectUnauthorized': BOOLEAN,
  'tls.servername': ANY,
  'tls.minVersion': /^TLSv1(\.[123])?$/,
  'tls.maxVersion': /^TLSv1(\.[123])?$/,
  'tls.ciphers': ANY,
}

/** The options that each driver takes from a URL, and that Latchkey does not set by itself, by the scheme. */
const OPTIONS: Readonly<Record<string, Options>> = {
  postgres: POSTGRES,
  postgresql: POSTGRES,
  mysql: MYSQL,
  mariadb: MYSQL,
  redis: REDIS,
  rediss: REDIS,
  'redis-sentinel': SENTINEL,
  'rediss-sentinel': SENTINEL,
  'redis-cluster': {},
  'rediss-cluster': {},
  smtp: SMTP,
  smtps: SMTP,
}

/** Returns what is wrong with the options of a URL: a driver would ignore one, or take its value for something else. */
export function findOptionFault(url: URL): Fault | undefined {
  const scheme = url.protocol.slice(0, -1)
  const known = OPTIONS[scheme]
  if (!known) return undefined
  if (url.hash !== '' && !scheme.includes('sentinel'))
    return { message: 'must have nothing after a #', remedy: 'Write %23 for a # that belongs to a value.' }
  const hasTls = known !== SMTP
  for (const [name, value] of url.searchParams) {
    if (hasTls && isTlsOption(name)) continue
    const pattern = Object.hasOwn(known, name) ? known[name] : undefined
    if (!pattern) return unknownOption(name, [...Object.keys(known), ...(hasTls ? TLS_OPTIONS : [])])
    if (!pattern.test(value)) return { message: `must have ${describe(pattern)} as its option ${name}` }
  }
  return hasTls ? findTlsFault(url) : undefined
}

function unknownOption(name: string, known: readonly string[]): Fault {
  const closest = closestName(name, known)
  // Text that is not a name may be a part of a password.
  const shown = /^[\w.-]{1,50}$/.test(name) ? name : 'of this name'
  return {
    message: `must not have the option ${shown}, which has no effect`,
    remedy: closest ? `Did you mean ${closest}?` : `Remove it, or use one of ${known.join(', ')}.`,
  }
}

const describe = (pattern: RegExp): string => {
  if (pattern === NUMBER) return 'a whole number'
  if (pattern === BOOLEAN) return 'true or false'
  return pattern === ANY ? 'a value' : `a value like ${pattern.source}`
}
