import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { SETTINGS, type SettingName } from './definitions.ts'
import { parseSettings } from './parse-settings.ts'
import type { Setting } from './setting.ts'
import { collectFaults } from './settings-error.ts'

const NAMES = Object.keys(SETTINGS) as SettingName[]
const MARK = 'zod wrote this'
/** What no setting should repeat. */
const VALUE = 'hunter2'

const BAD_VALUES = [
  undefined,
  ' ',
  `${VALUE} ${VALUE}`,
  `ftp://user:${VALUE}@host/`,
  `https://user:${VALUE}@a.example/path`,
  `http://${VALUE} /`,
  '-1',
  '0',
  '1.5',
  'Infinity',
  '1e308',
  '65536',
  '\u0000',
  '0.0.0.0/0',
  Buffer.from(VALUE).toString('base64'),
]

const faultsOf = (name: SettingName, value: string | undefined) =>
  collectFaults(() => parseSettings([name], { [name]: value }))

describe('a fault', () => {
  // zod asks this where a check has no message of its own.
  beforeAll(() => void z.config({ customError: () => MARK }))
  afterAll(() => void z.config({ customError: () => undefined }))

  it.each(NAMES)('of %s is one line in our words that names it and shows no value', (name) => {
    const { example, remedy }: Setting<unknown> = SETTINGS[name]
    for (const value of BAD_VALUES) {
      for (const fault of faultsOf(name, value)) {
        expect(fault).toMatch(
          new RegExp(`^${name} (is missing|is not|must|decodes|repeats)[^\n]*\\. [^\n]+$`),
        )
        expect(fault).not.toContain(MARK)
        expect(fault).not.toMatch(/undefined|Invalid|expected|received/)
        expect(fault).not.toContain(VALUE)
      }
    }
    expect(example ?? remedy, 'what to do').toBeTruthy()
  })

  it('is found in each setting that is not any text at all', () => {
    const anyText = ['CREDENTIALS_FILE', 'DATA_DIR', 'HOST', 'MAIL_FROM', 'DKIM_DOMAIN', 'DKIM_SELECTOR']
    const refusing = NAMES.filter((name) =>
      BAD_VALUES.some((value) => value && faultsOf(name, value).length > 0),
    )
    expect(NAMES.filter((name) => !refusing.includes(name))).toEqual(anyText)
  })

  it.each<[SettingName, string, string]>([
    [
      'TOKEN_LIFETIME',
      '0',
      'TOKEN_LIFETIME must be a whole number of seconds, at least 1. For example: TOKEN_LIFETIME=3600',
    ],
    ['PORT', '65536', 'PORT must be a whole number from 0 to 65535. For example: PORT=8080'],
    ['LOGIN_FIELD', 'phone', 'LOGIN_FIELD must be email or username. For example: LOGIN_FIELD=email'],
    [
      'MAIL_SECRET',
      'c2hvcnQ=',
      'MAIL_SECRET decodes to 5 bytes, and at least 32 are needed. Generate one with `npm run secret 32`.',
    ],
  ])('says what is wrong, the range and what to do: %s=%s', (name, value, fault) => {
    expect(faultsOf(name, value)).toEqual([fault])
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
    ['https://a.example/', 'https://a.example'],
    ['https://a.example/app?x#y', 'https://a.example'],
    ['HTTPS://A.example', 'https://a.example'],
    ['https://a.example:443,http://b.example:80/', 'https://a.example,http://b.example'],
    ['https://user:hunter2@a.example', 'https://a.example'],
    ['https://bücher.example', 'https://xn--bcher-kva.example'],
    ['https://a.example,https://b.example/', 'https://a.example,https://b.example'],
    ['capacitor://localhost/', 'capacitor://localhost'],
  ])('refuses %s and says what would match', (value, right) => {
    expect(faultsOf('CORS_ORIGINS', value)).toEqual([
      expect.stringMatching(/^CORS_ORIGINS must be origins, .*\. Set CORS_ORIGINS=/),
    ])
    expect(faultsOf('CORS_ORIGINS', value)[0]?.split('Set CORS_ORIGINS=')[1]).toBe(right)
  })

  it.each(['*', 'null', 'a.example', 'localhost:3000', 'https://'])(
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

  it.each([
    'https://login example.com',
    'https://',
    'htps://login.example.com',
    'http://[::1',
    'a\u0007b',
    'a b',
  ])('refuses what cannot be one: %j', (value) => {
    expect(faultsOf('API_SERVER', value)).toEqual([expect.stringMatching(/^API_SERVER must /)])
  })
})
