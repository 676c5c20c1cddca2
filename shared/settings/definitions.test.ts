import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { PASSWORD_SCHEMES } from '../passwords/schemes.ts'
import { MAX_LENGTH } from '../users/user.ts'
import { SETTINGS, type SettingName } from './definitions.ts'
import { parseSettings } from './parse-settings.ts'
import type { Setting } from './setting.ts'
import { collectFaults } from './settings-error.ts'

const NAMES = Object.keys(SETTINGS) as SettingName[]
/** A text that no fault may repeat. */
const VALUE = 'hunter2'

const faultsOf = (name: SettingName, value: string | undefined) =>
  collectFaults(() => parseSettings([name], { [name]: value }))

it('requires what has no default', () => {
  const environment = { APP_ENV: 'prod' }
  const isMissing = (name: SettingName) => collectFaults(() => parseSettings([name], environment)).length > 0
  expect(NAMES.filter(isMissing)).toEqual([
    'API_SERVER',
    'DATABASE_URL',
    'QUEUE_URL',
    'MAIL_SECRET',
    'MAIL_URL',
    'MAIL_FROM',
  ])
})

it('is for development, and as the specification says, by default', () => {
  expect(parseSettings(['APP_ENV', 'PASSWORD_HASH', 'LOGIN_FIELD', 'MINIMUM_CHARS'], { PORT: '' })).toEqual({
    APP_ENV: 'dev',
    PASSWORD_HASH: 'sha1',
    LOGIN_FIELD: 'email',
    MINIMUM_CHARS: 12,
  })
})

describe('each setting', () => {
  const ZOD = 'zod wrote this'
  const BAD_VALUES = [
    undefined,
    ' ',
    `${VALUE} ${VALUE}`,
    `ftp://user:${VALUE}@host/`,
    `https://user:${VALUE}@a.example/path`,
    '-1',
    '1.5',
    '1e308',
    '\u0000',
    '0.0.0.0/0',
    Buffer.from(VALUE).toString('base64'),
  ]
  // zod asks this where a check has no message.
  beforeAll(() => void z.config({ customError: () => ZOD }))
  afterAll(() => void z.config({ customError: () => undefined }))

  it.each(NAMES)(
    '%s is described, and its faults are one line that says what to do and shows no value',
    (name) => {
      const { description, example, remedy, isSecret }: Setting<unknown> = SETTINGS[name]
      expect(description).toMatch(/^[A-Z].*\.$/)
      expect(isSecret ? remedy && !example : example).toBeTruthy()
      for (const fault of BAD_VALUES.flatMap((value) => faultsOf(name, value))) {
        expect(fault).toMatch(
          new RegExp(`^${name} (is missing|is not|must|decodes|repeats)[^\n]*\\. [^\n]+$`),
        )
        expect(fault).not.toMatch(new RegExp(`${ZOD}|${VALUE}|undefined|Invalid|expected|received`))
      }
    },
  )

  it('that is not any text at all refuses some', () => {
    const anyText = ['CREDENTIALS_FILE', 'DATA_DIR', 'HOST', 'DKIM_DOMAIN', 'DKIM_SELECTOR']
    const refuses = (name: SettingName) =>
      BAD_VALUES.some((value) => value && faultsOf(name, value).length > 0)
    expect(NAMES.filter((name) => !refuses(name))).toEqual(anyText)
  })
})

it.each<[SettingName, string, string]>([
  ['TOKEN_LIFETIME', '0', 'must be a whole number of seconds, at least 2. For example: TOKEN_LIFETIME=3600'],
  ['PORT', '65536', 'must be a whole number from 0 to 65535. For example: PORT=8080'],
  [
    'OUTBOX_SWEEP',
    '1000001',
    'must be a whole number of seconds from 1 to 1000000. For example: OUTBOX_SWEEP=5',
  ],
  ['HASH_QUEUE', '  ', 'must be a whole number of calls, at least 0. For example: HASH_QUEUE=128'],
  ['LOGIN_FIELD', 'phone', 'must be email or username. For example: LOGIN_FIELD=email'],
  [
    'JWT_SECRET',
    'c2hvcnQ=',
    'decodes to 5 bytes, and at least 64 are needed. Generate one with `npm run secret`.',
  ],
  [
    'MAIL_SECRET',
    'c2hvcnQ=',
    'decodes to 5 bytes, and at least 32 are needed. Generate one with `npm run secret 32`.',
  ],
  [
    'BOARD_TOKEN',
    'x'.repeat(23),
    'must have at least 24 characters. Generate one with `npm run secret 32`, or leave it empty.',
  ],
  ['MAIL_URL', 'host', 'must be a URL. For example: MAIL_URL=smtps://user:password@smtp.example.com'],
  ...['postgres:///latchkey', 'mysql://latchkey:x@/latchkey', 'mysql://:3306/latchkey'].map(
    (given): [SettingName, string, string] => [
      'DATABASE_URL',
      given,
      'must name a host. For example: DATABASE_URL=postgres://latchkey:password@db.example.com:5432/latchkey',
    ],
  ),
  [
    'DATABASE_URL',
    'postgres://postgres://db.example.com/latchkey',
    'must have one scheme. For example: DATABASE_URL=postgres://latchkey:password@db.example.com:5432/latchkey',
  ],
  [
    'DATABASE_URL',
    'postgres://db-1:5432,db-2:5432/latchkey?target_session_attrs=read-write',
    'must name one host, which leads to the primary. For example: DATABASE_URL=postgres://latchkey:password@db.example.com:5432/latchkey',
  ],
  [
    'INBOX_URL',
    'ftp://host',
    'must be a URL that starts with http:// or https://. For example: INBOX_URL=http://localhost:1080',
  ],
])('says what is wrong, the range and what to do: %s=%s', (name, value, fault) => {
  expect(faultsOf(name, value)).toEqual([`${name} ${fault}`])
})

describe('the user name and password of a URL', () => {
  const fault = (name: string) => [
    `${name} must have no @ but the one before its host, and each /, ? and # of its user name and password percent-encoded. Write %40 for @, %2F for /, %3F for ? and %23 for #.`,
  ]

  it.each<[SettingName, string]>([
    ['DATABASE_URL', `postgres://latchkey:${VALUE}@x@db.example.com/latchkey`],
    ['DATABASE_URL', `mysql://latchkey:${VALUE}@x/y@db.example.com/latchkey`],
    ['DATABASE_URL', `mysql://latchkey:${VALUE}/x@db.example.com/latchkey`],
    ['QUEUE_URL', `redis://:${VALUE}#x@queue.example.com:6379`],
    ['MAIL_URL', `smtp://no-reply@example.com:${VALUE}@smtp.example.com`],
    ['MAIL_URL', `smtp://robot:${VALUE}?x@smtp.example.com`],
  ])('contain nothing that would end them: %s=%s', (name, value) => {
    expect(faultsOf(name, value)).toEqual(fault(name))
  })

  it.each<[SettingName, string]>([
    ['DATABASE_URL', `postgres://latchkey:${VALUE}%40x%2Fy@db.example.com/latchkey?application_name=x`],
    ['QUEUE_URL', `redis://:${VALUE}@queue.example.com:6379/1`],
    ['MAIL_URL', 'file:///var/mail/a@b'],
  ])('may contain anything percent-encoded: %s=%s', (name, value) => {
    expect(faultsOf(name, value)).toEqual([])
  })
})

describe('a list', () => {
  it('leaves out what is empty', () => {
    const { CORS_ORIGINS } = parseSettings(['CORS_ORIGINS'], { CORS_ORIGINS: ' https://a.example ,, ' })
    expect(CORS_ORIGINS).toEqual(['https://a.example'])
  })

  it.each<[SettingName, string]>([
    ['PROFILE_PROPERTIES', 'a'.repeat(MAX_LENGTH.propertyName)],
    ['SIGN_UP_DOMAINS', 'a.example,b.example'],
    ['PASSWORD_HASH_SHARED', Object.keys(PASSWORD_SCHEMES).join()],
  ])('takes what can be one: %s=%s', (name, value) => {
    expect(faultsOf(name, value)).toEqual([])
  })

  it.each<[SettingName, string, string]>([
    ['PROFILE_PROPERTIES', 'picture,latchkey.valid_from', 'must not name internal properties'],
    ['PROFILE_PROPERTIES', 'picture,["department"]', 'must be names of at most'],
    ['PROFILE_PROPERTIES', 'a'.repeat(MAX_LENGTH.propertyName + 1), 'must be names of at most'],
    ['SIGN_UP_DOMAINS', '@a.example', 'must be domains, without an @, separated by commas'],
    ['SIGN_UP_DOMAINS', 'a.example b.example', 'must be domains, without an @, separated by commas'],
    [
      'PASSWORD_HASH_SHARED',
      'sha1,rot13',
      'must be some of sha1, argon2id, bcrypt, argon2i, separated by commas',
    ],
  ])('refuses what cannot be one: %s=%s', (name, value, fault) => {
    expect(faultsOf(name, value)).toEqual([expect.stringContaining(`${name} ${fault}`)])
  })
})

describe('a text', () => {
  it.each<[SettingName, string]>([
    ['APP_ENV', 'eu-west1'],
    ['PRODUCT_NAME', 'x'.repeat(50)],
    ['PRODUCT_NAME', '🔑'],
    ['MAIL_COLOUR', '#0aF9c3'],
    ['BOARD_TOKEN', 'x'.repeat(24)],
    ['MAIL_URL', 'custom:x'],
  ])('is taken as it is: %s=%s', (name, value) => {
    expect(parseSettings([name], { [name]: value })).toEqual({ [name]: value })
  })

  it.each<[SettingName, string, string]>([
    ['APP_ENV', 'prod/eu', 'lower-case letters, digits and dashes'],
    ['APP_ENV', '../prod', 'lower-case letters, digits and dashes'],
    ['PRODUCT_NAME', 'x'.repeat(51), 'a name of at most 50 characters in one line'],
    ['PRODUCT_NAME', 'Example\nBcc: x', 'a name of at most 50 characters in one line'],
    ['PRODUCT_NAME', '  ', 'a name of at most 50 characters in one line'],
    ['SUPPORT_ADDRESS', 'a@example.com, b@example.com', 'one e-mail address'],
    ['MAIL_COLOUR', '#0aF9c3;', 'a colour, as #rrggbb'],
    ['MAIL_COLOUR', 'x#0aF9c3', 'a colour, as #rrggbb'],
  ])('is refused where it does not match: %s=%j', (name, value, rule) => {
    expect(faultsOf(name, value)).toEqual([
      expect.stringContaining(`${name} must be ${rule}. For example: ${name}=`),
    ])
  })

  it('of a DKIM key may be written in one line', () => {
    const { DKIM_KEY } = parseSettings(['DKIM_KEY'], { DKIM_KEY: 'PRIVATE KEY\\nabc\\n' })
    expect(DKIM_KEY).toBe('PRIVATE KEY\nabc\n')
  })
})

describe('CORS_ORIGINS', () => {
  it.each(['https://a.example', 'http://localhost:3000, https://b.example', 'capacitor://localhost'])(
    'takes origins as browsers send them: %s',
    (value) => {
      expect(parseSettings(['CORS_ORIGINS'], { CORS_ORIGINS: value }).CORS_ORIGINS).toEqual(value.split(', '))
    },
  )

  it.each([
    ['https://a.example/app?x#y', 'https://a.example'],
    ['HTTPS://A.example', 'https://a.example'],
    ['https://a.example:443,http://b.example:80/', 'https://a.example,http://b.example'],
    [`https://user:${VALUE}@a.example`, 'https://a.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['capacitor://localhost/', 'capacitor://localhost'],
  ])('refuses %s and says what would match', (value, right) => {
    const [fault = ''] = faultsOf('CORS_ORIGINS', value)
    expect(fault).toMatch(/^CORS_ORIGINS must be origins, /)
    expect(fault.split('Set CORS_ORIGINS=')[1]).toBe(right)
  })

  it.each(['*', 'https://*', 'https://*.a.example', 'https://b.example,https://*.a.example:8443'])(
    'refuses %s, since no browser sends a *',
    (value) => {
      expect(faultsOf('CORS_ORIGINS', value)).toEqual([
        expect.stringMatching(/^CORS_ORIGINS must be origins, .* or a \*\. For example: CORS_ORIGINS=https:/),
      ])
    },
  )

  it.each(['null', 'a.example', 'localhost:3000', 'https://'])(
    'refuses %s, which is not an origin',
    (value) => {
      expect(faultsOf('CORS_ORIGINS', value)).toEqual([
        expect.stringMatching(/^CORS_ORIGINS must be origins, .*For example: CORS_ORIGINS=https:/),
      ])
    },
  )
})

describe('API_SERVER', () => {
  it.each([
    'https://login.example.com',
    'http://localhost:8080/base',
    'auth.example.com',
    'urn:example:login',
  ])('takes any issuer: %s', (value) => {
    expect(parseSettings(['API_SERVER'], { API_SERVER: value }).API_SERVER).toBe(value)
  })

  it.each(['https://login example.com', 'https://', 'htps://login.example.com', 'http://[::1', 'a\u0007b'])(
    'refuses what cannot be one: %j',
    (value) => {
      expect(faultsOf('API_SERVER', value)).toEqual([expect.stringMatching(/^API_SERVER must /)])
    },
  )

  it.each([
    ['dev', undefined, 'http://localhost:8080'],
    ['test', '3000', 'http://localhost:3000'],
    ['dev', '0', 'http://localhost'],
    ['dev', 'x y', 'http://localhost'],
  ])('is the local server in %s with PORT=%s', (APP_ENV, PORT, server) => {
    expect(parseSettings(['API_SERVER'], { APP_ENV, PORT }).API_SERVER).toBe(server)
  })
})

describe('TRUST_PROXY', () => {
  it('takes addresses, networks and their names', () => {
    const text =
      '10.0.0.1, 172.16.0.0/12, fd00::/8, ::ffff:10.0.0.0/104, ::1, loopback, linklocal, uniquelocal'
    expect(parseSettings(['TRUST_PROXY'], { TRUST_PROXY: text }).TRUST_PROXY).toEqual(text.split(', '))
  })

  it.each([
    '10.0.0.0/8x',
    '10.0.0.0/33',
    '0.0.0.0/0',
    '::/0',
    '0.0.0.0/1,128.0.0.0/1',
    '10.0.0.0/7',
    '2000::/3',
    '::ffff:0.0.0.0/96',
    '0:0:0:0:0:ffff:a00:0/103',
    '::/16',
    'true',
    'ingress.example.com',
    '10.0.0.1,10.0.0.300',
  ])('takes nothing else: %s', (text) => {
    expect(faultsOf('TRUST_PROXY', text)).toEqual([
      expect.stringMatching(/^TRUST_PROXY must be addresses or networks.*TRUST_PROXY=10\.0\.0\.0\/8$/),
    ])
  })
})

it('keeps the metrics of the two services apart', () => {
  expect(parseSettings(['METRICS_PORT'], {}, 'auth-api').METRICS_PORT).toBe(9464)
  expect(parseSettings(['METRICS_PORT'], {}, 'mailer-worker').METRICS_PORT).toBe(9465)
})
