import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { findSetting, parseSettings } from './parse-settings.ts'
import { SettingsError } from './settings-error.ts'

const faultsOf = (work: () => unknown): readonly string[] => {
  try {
    work()
  } catch (error) {
    if (error instanceof SettingsError) return error.faults
    throw error
  }
  return []
}

describe('parseSettings', () => {
  it('takes the defaults of the specification where nothing is given', () => {
    const settings = parseSettings(
      ['PASSWORD_HASH', 'LOGIN_FIELD', 'MINIMUM_CHARS', 'ALLOW_REPEATED', 'REFRESH_WINDOW', 'PORT'],
      { PORT: '' },
    )
    expect(settings).toEqual({
      PASSWORD_HASH: 'sha1',
      LOGIN_FIELD: 'email',
      MINIMUM_CHARS: 12,
      ALLOW_REPEATED: 0,
      REFRESH_WINDOW: 300,
      PORT: 8080,
    })
  })

  it('gives no service a setting that it did not ask for', () => {
    expect(Object.keys(parseSettings(['PORT'], { JWT_SECRET: randomBytes(64).toString('base64') }))).toEqual([
      'PORT',
    ])
  })

  it('decodes secrets, with and without padding', () => {
    const secret = randomBytes(64)
    for (const text of [secret.toString('base64'), secret.toString('base64').replaceAll('=', '')]) {
      expect(parseSettings(['JWT_SECRET'], { JWT_SECRET: text }).JWT_SECRET).toEqual(secret)
    }
  })

  it('reports every fault at once and no value of any', () => {
    const environment = {
      JWT_SECRET: 'hunter2-hunter2',
      DATABASE_URL: 'ftp://user:hunter2@db',
      PORT: 'hunter2',
      TOKEN_LIFETIME: '-1',
      LOG_LEVEL: 'loud',
    }
    const faults = faultsOf(() =>
      parseSettings(
        ['JWT_SECRET', 'MAIL_SECRET', 'DATABASE_URL', 'PORT', 'TOKEN_LIFETIME', 'LOG_LEVEL'],
        environment,
      ),
    )
    expect(faults.map((fault) => fault.split(' ', 1)[0]).sort()).toEqual([
      'DATABASE_URL',
      'JWT_SECRET',
      'LOG_LEVEL',
      'MAIL_SECRET',
      'PORT',
      'TOKEN_LIFETIME',
    ])
    expect(faults.join()).not.toContain('hunter2')
    expect(faults.find((fault) => fault.startsWith('MAIL_SECRET'))).toContain('npm run secret 32')
  })

  it.each(['1e2', '0x10', ' 7 ', '3.5', 'NaN', 'Infinity'])('takes a number only as one: %j', (text) => {
    const faults = faultsOf(() => parseSettings(['RESET_ATTEMPTS'], { RESET_ATTEMPTS: text }))
    const isWhole = Number.isInteger(Number(text))
    expect(faults.length === 0).toBe(isWhole)
  })

  it('takes addresses, networks and their names for proxies', () => {
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
  ])('takes nothing else for one: %s', (text) => {
    expect(faultsOf(() => parseSettings(['TRUST_PROXY'], { TRUST_PROXY: text }))).toEqual([
      expect.stringMatching(/^TRUST_PROXY must be addresses or networks.*TRUST_PROXY=10\.0\.0\.0\/8$/),
    ])
  })
})

describe('a published secret', () => {
  // The example of docs/how-to/create-secrets.md.
  const JWT_SECRET =
    '3gQ1xJwPIQRuuvTeVdCBAy4mqeb6vZC5+LkUa2J8pa4vdNlqid4Cs74QgWBfqu//NZqe7TE/9wQsrcLr/9oXAA=='

  it('is refused in prod, where another one is taken', () => {
    const refused = faultsOf(() => parseSettings(['JWT_SECRET'], { APP_ENV: 'prod', JWT_SECRET }))
    expect(refused).toEqual([
      "JWT_SECRET is published in Latchkey's own repository, so anyone can know it. Generate one with `npm run secret`.",
    ])
    const own = { APP_ENV: 'prod', JWT_SECRET: randomBytes(64).toString('base64') }
    expect(faultsOf(() => parseSettings(['JWT_SECRET'], own))).toEqual([])
  })

  it('is taken elsewhere', () => {
    expect(faultsOf(() => parseSettings(['JWT_SECRET'], { APP_ENV: 'dev', JWT_SECRET }))).toEqual([])
  })
})

describe('findSetting', () => {
  it('gives the value, else the default, else nothing', () => {
    expect(findSetting('PORT', { PORT: '7' })).toBe(7)
    expect(findSetting('PORT', {})).toBe(8080)
    expect(findSetting('QUEUE_URL', { DATABASE_URL: 'postgres://db/x' })).toBe('postgres://db/x')
    expect(findSetting('MAIL_URL', {})).toBeUndefined()
  })

  it('refuses what the setting refuses', () => {
    expect(faultsOf(() => findSetting('PORT', { PORT: 'x' }))).toEqual([
      expect.stringMatching(/^PORT must be/),
    ])
  })
})
