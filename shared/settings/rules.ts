import { KIND_OF, type PrivateKey } from '../secrets/private-key.ts'
import { isHttpUrl } from './addresses.ts'
import { isClearText } from './clear-text.ts'
import type { SettingName, Settings } from './definitions.ts'
import type { Fault } from './fault.ts'
import type { Environment } from './setting.ts'

type Faults = readonly (readonly [SettingName, Fault])[]

/** A condition on settings that are each valid, but perhaps not together. It is checked where all of its settings are read. */
interface Rule {
  readonly names: readonly SettingName[]
  readonly findFaults: (settings: Settings, environment: Environment) => Faults
}

const rule = <const Name extends SettingName>(
  names: readonly Name[],
  findFaults: (settings: Settings<Name>, environment: Environment) => Faults,
): Rule => ({ names, findFaults })

const fault = (name: SettingName, what: Fault): Faults => [[name, what]]

const DKIM = ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_KEY'] as const

const KEYS = ['JWT_PRIVATE_KEY', 'JWT_PRIVATE_KEY_NEXT', 'JWT_PRIVATE_KEY_PREVIOUS'] as const
const KEY_SETTINGS = [
  'JWT_ALGORITHM',
  'JWT_SECRET',
  ...KEYS,
  ...KEYS.map((name) => `${name}_FILE` as const),
] as const

export const RULES: readonly Rule[] = [
  // Without this, a connection that the shell has encrypted until now would be in clear.
  rule(['DATABASE_URL'], ({ DATABASE_URL: url }, { PGSSLMODE: mode = '' }) =>
    url.startsWith('postgres') && /^(require|verify-ca|verify-full)$/.test(mode) && isClearText(url)
      ? fault('DATABASE_URL', {
          message: `does not encrypt the connection, and PGSSLMODE, which is not read, is ${mode}`,
          remedy: `Add sslmode=${mode} to it, or unset PGSSLMODE.`,
        })
      : [],
  ),
  rule(KEY_SETTINGS, (settings) => [...findSignerFaults(settings), ...findKeyFaults(settings)]),
  rule(['TOKEN_LIFETIME', 'REFRESH_WINDOW'], ({ TOKEN_LIFETIME: lifetime, REFRESH_WINDOW: window }) =>
    window < lifetime
      ? []
      : fault('REFRESH_WINDOW', {
          message: `must be less than TOKEN_LIFETIME, which is ${lifetime} seconds: a refresh is for the end of a lifetime`,
          remedy: `For example: REFRESH_WINDOW=${Math.floor(lifetime / 2)}`,
        }),
  ),
  rule(
    ['PASSWORD_HASH', 'PASSWORD_HASH_SHARED'],
    ({ PASSWORD_HASH: scheme, PASSWORD_HASH_SHARED: shared }) =>
      shared.length === 0 || shared.includes(scheme)
        ? []
        : fault('PASSWORD_HASH', {
            message:
              'is none of PASSWORD_HASH_SHARED: the other system cannot verify its hashes, and a login here would lock the user out there',
            remedy: 'Set it to one of them; after the switch, remove PASSWORD_HASH_SHARED instead',
          }),
  ),
  // In libuv's pool, DNS, files and WebCrypto would wait behind the hashes.
  rule(['HASH_CONCURRENCY'], ({ HASH_CONCURRENCY: hashes }, { UV_THREADPOOL_SIZE: threads }) =>
    threads === undefined || hashes < Number(threads)
      ? []
      : fault('HASH_CONCURRENCY', {
          message: `must be less than the threads of libuv's pool, which are ${threads}`,
          remedy: `Set UV_THREADPOOL_SIZE=${hashes + 1} in the environment of the process`,
        }),
  ),
  rule(['SECOND_FACTOR', 'FACTOR_SECRET'], ({ SECOND_FACTOR: mode, FACTOR_SECRET: secret }) =>
    mode === 'off' || secret !== undefined
      ? []
      : fault('FACTOR_SECRET', { message: 'is missing, and SECOND_FACTOR is on' }),
  ),
  rule(['SECOND_FACTOR', 'SECOND_FACTOR_ROLES'], ({ SECOND_FACTOR: mode, SECOND_FACTOR_ROLES: roles }) =>
    mode === 'on' || roles.length === 0
      ? []
      : fault('SECOND_FACTOR_ROLES', {
          message: 'names roles, and SECOND_FACTOR is off: their users could not add a second factor',
          remedy: 'Set SECOND_FACTOR=on, or leave SECOND_FACTOR_ROLES empty.',
        }),
  ),
  rule(['PASSKEY_ORIGINS', 'PASSKEY_RP_ID'], ({ PASSKEY_ORIGINS: origins, PASSKEY_RP_ID: domain = '' }) => {
    const foreign = origins.find((origin) => !`.${new URL(origin).hostname}`.endsWith(`.${domain}`))
    return foreign === undefined
      ? []
      : fault('PASSKEY_RP_ID', {
          message: `is ${domain || 'empty'}, to which ${foreign} of PASSKEY_ORIGINS does not belong`,
          remedy: `Set it to the domain of every page, for example PASSKEY_RP_ID=${new URL(foreign).hostname}`,
        })
  }),
  rule(['OIDC_PROVIDERS', 'API_SERVER'], ({ OIDC_PROVIDERS: providers, API_SERVER: server }) =>
    providers.length === 0 || isHttpUrl(server)
      ? []
      : fault('API_SERVER', {
          message: 'is not a URL, and the providers of OIDC_PROVIDERS send users back to it',
          remedy: 'Set it to the address at which browsers reach auth-api.',
        }),
  ),
  rule(DKIM, (settings) => {
    const missing = DKIM.filter((name) => settings[name] === undefined)
    const remedy = `Set all of ${DKIM.join(', ')} or none of them.`
    if (missing.length === DKIM.length) return []
    return missing.flatMap((name) => fault(name, { message: 'is missing', remedy }))
  }),
]

type KeySettings = Settings<(typeof KEY_SETTINGS)[number]>

/** Returns what is wrong with the key that signs. */
function findSignerFaults(settings: KeySettings): Faults {
  const { JWT_ALGORITHM: algorithm, JWT_SECRET: secret, JWT_PRIVATE_KEY: inline } = settings
  const name = inline ? 'JWT_PRIVATE_KEY' : 'JWT_PRIVATE_KEY_FILE'
  const key = inline ?? settings.JWT_PRIVATE_KEY_FILE
  if (algorithm === 'HS512') {
    const message = 'signs nothing while JWT_ALGORITHM is HS512'
    const remedy = `Set JWT_ALGORITHM=${key?.algorithm}, or publish the key first, as JWT_PRIVATE_KEY_NEXT.`
    return [
      ...(secret ? [] : fault('JWT_SECRET', { message: 'is missing' })),
      ...(key ? fault(name, { message, remedy }) : []),
    ]
  }
  const generate = `generate one with \`npm run secret -- --key ${KIND_OF[algorithm]}\``
  if (!key)
    return fault('JWT_PRIVATE_KEY', {
      message: `is missing, and JWT_ALGORITHM is ${algorithm}`,
      remedy: `Set it or JWT_PRIVATE_KEY_FILE; ${generate}.`,
    })
  return key.algorithm === algorithm
    ? []
    : fault(name, {
        message: `is a key for ${key.algorithm}, and JWT_ALGORITHM is ${algorithm}`,
        remedy: `Set JWT_ALGORITHM=${key.algorithm}, or ${generate}.`,
      })
}

/** Returns what is wrong with the keys beside each other: each is given once, and none twice. */
function findKeyFaults(settings: KeySettings): Faults {
  const keyOf = (name: (typeof KEYS)[number]) => settings[name] ?? settings[`${name}_FILE`]
  return KEYS.flatMap((name, index) => {
    const given = keyOf(name)
    if (settings[name] && settings[`${name}_FILE`])
      return fault(name, {
        message: `and ${name}_FILE are both set`,
        remedy: 'Set one of them, and leave the other one empty.',
      })
    // A rotation that forgets the former key would end every session.
    const twin = KEYS.slice(0, index).find((other) => given && isSameKey(keyOf(other), given))
    return twin
      ? fault(name, {
          message: `is the key of ${twin}`,
          remedy: 'Set the other key, or leave it empty where there is none.',
        })
      : []
  })
}

/** Node leaves an error of OpenSSL behind where it compares keys of two types: the next key that is read seems damaged. */
const isSameKey = (one: PrivateKey | undefined, other: PrivateKey): boolean =>
  one?.algorithm === other.algorithm && one.key.equals(other.key)
