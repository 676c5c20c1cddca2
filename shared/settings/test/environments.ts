import fc from 'fast-check'
import { anyCharacter } from '../../test/any-character.ts'
import { SETTINGS, type SettingName } from '../definitions.ts'
import type { Environment, Setting } from '../setting.ts'

/** Stands in each secret value and in the user information of each URL: no fault may show it. */
export const SECRET = 'hunter2'

const SETTING_NAMES = Object.keys(SETTINGS) as SettingName[]

/** Environments of all settings: absent, empty, of a good form, almost of one, or any text. */
export const environments = (): fc.Arbitrary<Environment> =>
  fc
    .tuple(
      fc.record(Object.fromEntries(SETTING_NAMES.map((name) => [name, valuesOf(name)]))),
      fc.dictionary(fc.string({ unit: anyCharacter }), fc.string()),
    )
    .map(([settings, others]) => ({ ...others, ...settings }))

const ANY_TEXT = fc.string({ unit: anyCharacter, maxLength: 40 })

const NUMBER = fc.oneof(
  fc.integer().map(String),
  fc.double().map(String),
  fc.constantFrom('0x10', ' 7 ', '1e3', '1_000', '-0', '٣'),
)

const URL_TEXT = fc
  .tuple(
    fc.constantFrom(
      ...[
        'postgres',
        'postgresql',
        'mysql',
        'mariadb',
        'redis',
        'rediss',
        'smtp',
        'null',
        'http',
        'https',
        'x',
      ],
    ),
    fc.constantFrom('://', ':', ':/', ''),
    fc.constantFrom('', `user:${SECRET}@`, `${SECRET}@`, `:${SECRET}@`, `us er:${SECRET}@`),
    fc.constantFrom('host', 'host:5432', 'host:99999', '[::1]', '[::', '', 'a b', 'ü.example'),
    fc.constantFrom('', '/', '/name', '/%zz', '?a=b', '#f', '\u0000'),
  )
  .map((parts) => parts.join(''))

const LIST = fc
  .array(fc.oneof(URL_TEXT, fc.constantFrom('10.0.0.0/8', '::/0', '0.0.0.0/1', 'loopback', '*', '127.0.0.1')))
  .map((items) => items.join(','))

const SECRET_TEXT = fc.oneof(
  ANY_TEXT.map((text) => SECRET + text),
  fc
    .uint8Array({ maxLength: 80 })
    .map((bytes) => Buffer.concat([Buffer.from(SECRET), bytes]).toString('base64')),
  fc.uint8Array({ minLength: 64, maxLength: 64 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  fc.constantFrom(
    `-----BEGIN PRIVATE KEY-----\\n${SECRET}\\n-----END PRIVATE KEY-----`,
    `PRIVATE KEY ${SECRET}`,
  ),
)

function valuesOf(name: SettingName): fc.Arbitrary<string | undefined> {
  const { isSecret, example, default: fallback }: Setting<unknown> = SETTINGS[name]
  const good = example ?? (typeof fallback === 'string' ? fallback : '')
  return fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(undefined, '', good) },
    { weight: 3, arbitrary: isSecret ? SECRET_TEXT : fc.oneof(ANY_TEXT, NUMBER, URL_TEXT, LIST) },
  )
}
