import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { findSetting, parseSettings } from './parse-settings.ts'
import { collectFaults } from './settings-error.ts'

describe('parseSettings', () => {
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
    const faults = collectFaults(() =>
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
    const faults = collectFaults(() => parseSettings(['RESET_ATTEMPTS'], { RESET_ATTEMPTS: text }))
    const isWhole = Number.isInteger(Number(text))
    expect(faults.length === 0).toBe(isWhole)
  })
})

describe('a published secret', () => {
  // The example of docs/how-to/create-secrets.md.
  const JWT_SECRET =
    '3gQ1xJwPIQRuuvTeVdCBAy4mqeb6vZC5+LkUa2J8pa4vdNlqid4Cs74QgWBfqu//NZqe7TE/9wQsrcLr/9oXAA=='

  it('is refused in prod, where another one is taken', () => {
    const refused = collectFaults(() => parseSettings(['JWT_SECRET'], { APP_ENV: 'prod', JWT_SECRET }))
    expect(refused).toEqual([
      "JWT_SECRET is published in Latchkey's own repository, so anyone can know it. Generate one with `npm run secret`.",
    ])
    const own = { APP_ENV: 'prod', JWT_SECRET: randomBytes(64).toString('base64') }
    expect(collectFaults(() => parseSettings(['JWT_SECRET'], own))).toEqual([])
  })

  it('is taken elsewhere', () => {
    expect(collectFaults(() => parseSettings(['JWT_SECRET'], { APP_ENV: 'dev', JWT_SECRET }))).toEqual([])
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
    expect(collectFaults(() => findSetting('PORT', { PORT: 'x' }))).toEqual([
      expect.stringMatching(/^PORT must be/),
    ])
  })
})
