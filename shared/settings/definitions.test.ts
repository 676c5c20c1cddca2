import { describe, expect, it } from 'vitest'
import { PASSWORD_SCHEMES } from '../passwords/schemes.ts'
import { MAX_LENGTH } from '../users/user.ts'
import { SETTINGS, type SettingName } from './definitions.ts'
import { parseSettings } from './parse-settings.ts'
import { collectFaults } from './settings-error.ts'

const REQUIRED = {
  APP_ENV: 'dev',
  JWT_SECRET: Buffer.alloc(64, 1).toString('base64'),
  MAIL_SECRET: Buffer.alloc(32, 1).toString('base64'),
  DATABASE_URL: 'postgres://db/x',
  MAIL_URL: 'null:',
  MAIL_FROM: 'a@example.com',
}
const NAMES = Object.keys(SETTINGS) as SettingName[]
const faultsOf = (name: SettingName, environment: Record<string, string>) =>
  collectFaults(() => parseSettings([name], environment))

it('has these defaults', () => {
  const required = Object.keys(REQUIRED)
  const names = NAMES.filter((name) => !required.includes(name) && name !== 'HASH_CONCURRENCY')
  expect(parseSettings(names, REQUIRED)).toEqual({
    CREDENTIALS_FILE: undefined,
    DATA_DIR: '.data',
    HOST: '0.0.0.0',
    PORT: 8080,
    METRICS_PORT: 9464,
    CORS_ORIGINS: [],
    TRUST_PROXY: [],
    API_SERVER: 'http://localhost:8080',
    JWT_SECRET_PREVIOUS: undefined,
    TOKEN_LIFETIME: 3600,
    REFRESH_WINDOW: 300,
    SESSION_LIFETIME: 2_592_000,
    REVOCATION_CACHE: 5,
    LOGIN_FIELD: 'email',
    PASSWORD_HASH: 'sha1',
    PASSWORD_HASH_ACCEPTED: ['sha1', 'argon2id'],
    PASSWORD_HASH_SHARED: [],
    EMAIL_CHANGE: 'immediate',
    HASH_QUEUE: 128,
    MINIMUM_CHARS: 12,
    REQUIRE_UPPERCASE: 1,
    REQUIRE_LOWERCASE: 1,
    REQUIRE_SYMBOLS: 1,
    REQUIRE_NUMBERS: 1,
    ALLOW_WHITESPACE: 0,
    ALLOW_SEQUENTIAL: 0,
    ALLOW_REPEATED: 0,
    RESET_TTL: 600,
    RESET_ATTEMPTS: 5,
    PROFILE_PROPERTIES: ['picture'],
    SIGN_UP: 'off',
    SIGN_UP_DOMAINS: [],
    DATABASE_POOL: 10,
    QUEUE_URL: 'postgres://db/x',
    PRODUCT_NAME: 'Latchkey',
    SUPPORT_ADDRESS: undefined,
    MAIL_COLOUR: '#3b5bdb',
    NOTICE_ROLES_CHANGED: 'on',
    NOTICE_FAILED_LOGINS: 'on',
    INBOX_URL: undefined,
    MAIL_CONCURRENCY: 8,
    MAIL_RATE: 50,
    OUTBOX_SWEEP: 5,
    DKIM_DOMAIN: undefined,
    DKIM_SELECTOR: undefined,
    DKIM_KEY: undefined,
    RATE_LIMIT_REQUESTS: 6000,
    RATE_LIMIT_LOGIN: 10,
    RATE_LIMIT_RESET: 5,
    LOG_LEVEL: 'info',
    AUDIT_DAYS: 90,
    SHUTDOWN_DELAY: 0,
    SHUTDOWN_GRACE: 10,
  })
})

it('is for development by default', () => {
  expect(parseSettings(['APP_ENV'], {})).toEqual({ APP_ENV: 'dev' })
})

it('requires what has no default', () => {
  const missing = NAMES.filter((name) => faultsOf(name, { APP_ENV: 'prod' }).length > 0)
  expect(missing).toEqual([
    'API_SERVER',
    'JWT_SECRET',
    'DATABASE_URL',
    'QUEUE_URL',
    'MAIL_SECRET',
    'MAIL_URL',
    'MAIL_FROM',
  ])
})

describe('a number', () => {
  it.each<[SettingName, string, minimum: number, maximum?: number]>([
    ['PORT', 'number', 0, 65_535],
    ['METRICS_PORT', 'number', 0, 65_535],
    ['TOKEN_LIFETIME', 'number of seconds', 1],
    ['REFRESH_WINDOW', 'number of seconds', 1],
    ['SESSION_LIFETIME', 'number of seconds', 0],
    ['REVOCATION_CACHE', 'number of seconds', 0],
    ['HASH_CONCURRENCY', 'number of threads', 1],
    ['HASH_QUEUE', 'number of logins', 0],
    ['MINIMUM_CHARS', 'number of characters', 0],
    ['REQUIRE_UPPERCASE', 'number of characters', 0],
    ['REQUIRE_LOWERCASE', 'number of characters', 0],
    ['REQUIRE_SYMBOLS', 'number of characters', 0],
    ['REQUIRE_NUMBERS', 'number of characters', 0],
    ['RESET_TTL', 'number of seconds', 1],
    ['RESET_ATTEMPTS', 'number of attempts', 1],
    ['DATABASE_POOL', 'number of connections', 1],
    ['MAIL_CONCURRENCY', 'number of mails', 1],
    ['MAIL_RATE', 'number of mails per second', 1],
    ['OUTBOX_SWEEP', 'number of seconds', 1, 1_000_000],
    ['RATE_LIMIT_REQUESTS', 'number of requests per minute', 0],
    ['RATE_LIMIT_LOGIN', 'number of logins per minute', 0],
    ['RATE_LIMIT_RESET', 'number of requests', 0],
    ['AUDIT_DAYS', 'number of days', 1, 36_500],
    ['SHUTDOWN_DELAY', 'number of seconds', 0, 1_000_000],
    ['SHUTDOWN_GRACE', 'number of seconds', 1, 1_000_000],
  ])('is in its range: %s', (name, kind, minimum, maximum = Number.MAX_SAFE_INTEGER) => {
    const range =
      maximum === Number.MAX_SAFE_INTEGER ? `, at least ${minimum}` : ` from ${minimum} to ${maximum}`
    for (const good of [minimum, maximum]) expect(faultsOf(name, { [name]: String(good) })).toEqual([])
    for (const bad of [minimum - 1, maximum + 1])
      expect(faultsOf(name, { [name]: String(bad) })).toEqual([
        expect.stringContaining(`${name} must be a whole ${kind}${range}. For example: ${name}=`),
      ])
  })

  it('is not white space', () => {
    expect(faultsOf('HASH_QUEUE', { HASH_QUEUE: '  ' })).toEqual([expect.stringContaining('must be a whole')])
  })
})

describe('a URL', () => {
  it.each<[SettingName, string[], string]>([
    [
      'DATABASE_URL',
      ['postgres', 'postgresql', 'mysql', 'mariadb'],
      'postgres://, postgresql://, mysql:// or mariadb://',
    ],
    [
      'QUEUE_URL',
      ['redis', 'rediss', 'postgres', 'postgresql'],
      'redis://, rediss://, postgres:// or postgresql://',
    ],
    ['INBOX_URL', ['http', 'https'], 'http:// or https://'],
  ])('has one of the schemes of %s', (name, schemes, list) => {
    for (const scheme of schemes) expect(faultsOf(name, { [name]: `${scheme}://host/x` })).toEqual([])
    for (const bad of ['ftp://host/x', 'host'])
      expect(faultsOf(name, { [name]: bad })).toEqual([
        expect.stringContaining(`${name} must be a URL that starts with ${list}. `),
      ])
  })

  it('has any scheme in MAIL_URL', () => {
    expect(faultsOf('MAIL_URL', { MAIL_URL: 'custom:x' })).toEqual([])
    expect(faultsOf('MAIL_URL', { MAIL_URL: 'host' })).toEqual([expect.stringContaining('must be a URL.')])
  })
})

describe('a list', () => {
  it('leaves out what is empty', () => {
    const { CORS_ORIGINS } = parseSettings(['CORS_ORIGINS'], { CORS_ORIGINS: ' https://a.example ,, ' })
    expect(CORS_ORIGINS).toEqual(['https://a.example'])
  })

  it.each([
    ['picture,latchkey.valid_from', 'must not name internal properties, which begin with latchkey.'],
    ['picture,["department"]', 'must be names of at most'],
    ['a'.repeat(MAX_LENGTH.propertyName + 1), 'must be names of at most'],
  ])('of properties has names that a row can have and that are not internal: %s', (value, fault) => {
    const faults = faultsOf('PROFILE_PROPERTIES', { PROFILE_PROPERTIES: value })
    expect(faults).toEqual([expect.stringContaining(fault)])
  })

  it('of properties has names as long as a row can have', () => {
    const longest = 'a'.repeat(MAX_LENGTH.propertyName)
    expect(faultsOf('PROFILE_PROPERTIES', { PROFILE_PROPERTIES: longest })).toEqual([])
  })

  it('of domains has what follows the @ of an e-mail', () => {
    const { SIGN_UP_DOMAINS } = parseSettings(['SIGN_UP_DOMAINS'], { SIGN_UP_DOMAINS: 'a.example,b.example' })
    expect(SIGN_UP_DOMAINS).toEqual(['a.example', 'b.example'])
  })

  it.each(['@a.example', 'a.example,b@', 'a.example b.example'])(
    'of domains has nothing else: %s',
    (value) => {
      expect(faultsOf('SIGN_UP_DOMAINS', { SIGN_UP_DOMAINS: value })).toEqual([
        expect.stringContaining('SIGN_UP_DOMAINS must be domains, without an @, separated by commas. '),
      ])
    },
  )

  it('of schemes has those that Latchkey can verify', () => {
    expect(faultsOf('PASSWORD_HASH_SHARED', { PASSWORD_HASH_SHARED: 'sha1,rot13' })).toEqual([
      expect.stringContaining(
        `must be some of ${Object.keys(PASSWORD_SCHEMES).join(', ')}, separated by commas`,
      ),
    ])
  })
})

describe('a choice', () => {
  it.each<[SettingName, string[], string]>([
    ['LOGIN_FIELD', ['email', 'username'], 'email or username'],
    ['EMAIL_CHANGE', ['immediate', 'confirmed'], 'immediate or confirmed'],
    ['SIGN_UP', ['on', 'off'], 'on or off'],
    ['NOTICE_ROLES_CHANGED', ['on', 'off'], 'on or off'],
    ['NOTICE_FAILED_LOGINS', ['on', 'off'], 'on or off'],
    [
      'LOG_LEVEL',
      ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
      'fatal, error, warn, info, debug, trace or silent',
    ],
  ])('is one of %s', (name, choices, list) => {
    for (const choice of choices)
      expect(parseSettings([name], { [name]: choice })).toEqual({ [name]: choice })
    expect(faultsOf(name, { [name]: 'other' })).toEqual([expect.stringContaining(`${name} must be ${list}.`)])
  })
})

describe('a text', () => {
  const LONGEST_NAME = 'x'.repeat(50)

  it.each<[SettingName, string]>([
    ['APP_ENV', 'eu-west1'],
    ['PRODUCT_NAME', LONGEST_NAME],
    ['PRODUCT_NAME', '🔑'],
    ['SUPPORT_ADDRESS', 'support@example.com'],
    ['MAIL_COLOUR', '#0aF9c3'],
  ])('is taken as it is: %s=%s', (name, value) => {
    expect(parseSettings([name], { [name]: value })).toEqual({ [name]: value })
  })

  it.each<[SettingName, string, string]>([
    ['APP_ENV', 'prod/eu', 'lower-case letters, digits and dashes'],
    ['APP_ENV', '../prod', 'lower-case letters, digits and dashes'],
    ['PRODUCT_NAME', `${LONGEST_NAME}x`, 'a name of at most 50 characters in one line'],
    ['PRODUCT_NAME', 'Example\nBcc: x', 'a name of at most 50 characters in one line'],
    ['PRODUCT_NAME', '\tExample', 'a name of at most 50 characters in one line'],
    ['PRODUCT_NAME', '  ', 'a name of at most 50 characters in one line'],
    ['SUPPORT_ADDRESS', 'support', 'one e-mail address'],
    ['SUPPORT_ADDRESS', 'a@example.com, b@example.com', 'one e-mail address'],
    ['MAIL_COLOUR', '#0aF9c3;', 'a colour, as #rrggbb'],
    ['MAIL_COLOUR', 'x#0aF9c3', 'a colour, as #rrggbb'],
  ])('is refused where it does not match: %s=%j', (name, value, rule) => {
    expect(faultsOf(name, { [name]: value })).toEqual([
      expect.stringContaining(`${name} must be ${rule}. For example: ${name}=`),
    ])
  })
})

it.each<[SettingName, string | undefined]>([
  ['JWT_SECRET', 'Generate one with `npm run secret`.'],
  ['MAIL_SECRET', 'Generate one with `npm run secret 32`.'],
  ['JWT_SECRET_PREVIOUS', 'Set it to the previous JWT_SECRET, or leave it empty.'],
  ['DKIM_KEY', 'Give the whole file, from `-----BEGIN PRIVATE KEY-----` on.'],
])('says where to get %s', (name, remedy) => {
  expect(faultsOf(name, { [name]: 'x' })[0]?.endsWith(`. ${remedy}`)).toBe(true)
})

it('takes a BOARD_TOKEN of 24 characters, and no shorter one', () => {
  expect(faultsOf('BOARD_TOKEN', { BOARD_TOKEN: 'x'.repeat(24) })).toEqual([])
  expect(faultsOf('BOARD_TOKEN', { BOARD_TOKEN: 'x'.repeat(23) })).toEqual([
    'BOARD_TOKEN must have at least 24 characters. Generate one with `npm run secret 32`, or leave it empty.',
  ])
})

it('takes the line ends of a DKIM key as they are written in one line', () => {
  const { DKIM_KEY } = parseSettings(['DKIM_KEY'], { DKIM_KEY: 'PRIVATE KEY\\nabc\\n' })
  expect(DKIM_KEY).toBe('PRIVATE KEY\nabc\n')
})

it.each([
  ['dev', undefined, 'http://localhost:8080'],
  ['test', '3000', 'http://localhost:3000'],
  ['dev', '0', 'http://localhost'],
  ['dev', 'x y', 'http://localhost'],
])('issues tokens for the local server in %s with PORT=%s', (APP_ENV, PORT, server) => {
  expect(parseSettings(['API_SERVER'], { APP_ENV, ...(PORT ? { PORT } : {}) }).API_SERVER).toBe(server)
})

it('keeps the metrics of the two services apart', () => {
  expect(parseSettings(['METRICS_PORT'], {}, 'auth-api').METRICS_PORT).toBe(9464)
  expect(parseSettings(['METRICS_PORT'], {}, 'mailer-worker').METRICS_PORT).toBe(9465)
})
