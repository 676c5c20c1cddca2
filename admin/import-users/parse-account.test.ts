import { expect, it } from 'vitest'
import type { Fault } from '../fault.ts'
import { parseAccount } from './parse-account.ts'

const NOW = Date.UTC(2026, 0)
const parse = (cells: Record<string, string>, sealsFactors = true) => {
  const faults: Fault[] = []
  const account = parseAccount((column) => cells[column] ?? '', { sealsFactors, now: NOW }, faults)
  return { account, faults }
}

it.each([
  { userid: 'not-a-uuid' },
  { userid: '17' },
  { userid: '00000000-0000-0000-0000-000000000000' },
  { created_at: '0000-00-00 00:00:00' },
  { created_at: '0000-01-01' },
  { deleted_at: 'yes' },
  { banned_until: 'never' },
  { email_confirmed: 'maybe' },
  { language: 'de' },
  { metadata: '[1]' },
  { metadata: '{"__proto__":{"a":1}}' },
  { metadata: '{"a":9007199254740993}' },
  { metadata: '{broken' },
  { metadata: `${'{"a":'.repeat(1_000)}1${'}'.repeat(1_000)}` },
  { metadata: JSON.stringify({ a: 'x'.repeat(9_000) }) },
  { identities: 'just-a-word' },
  { identities: 'Google:1' },
  { identities: 'google:1 google:1' },
  { identities: `google:${'1'.repeat(256)}` },
  { totp_secret: 'not base 32!' },
  { recovery_codes: 'short', totp_secret: 'JBSWY3DPEHPK3PXP' },
  { recovery_codes: 'abcd-efgh-1234' },
])('refuses a value by its column, and does not show it: %j', (cells) => {
  const { faults } = parse(cells as Record<string, string>)
  expect(faults.map(({ field }) => field)).toEqual([Object.keys(cells)[0]])
  for (const value of Object.values(cells)) expect(JSON.stringify(faults)).not.toContain(value)
})

it('needs FACTOR_SECRET for what it has to seal', () => {
  expect(parse({ totp_secret: 'JBSWY3DPEHPK3PXP' }, false).faults).toEqual([
    { field: 'totp_secret', reason: 'needs FACTOR_SECRET, that of auth-api' },
  ])
})

it.each([
  ['email_confirmed', 'false', [{ name: 'latchkey.unconfirmed', value: 'import' }]],
  ['email_confirmed', 't', []],
  [
    'banned_until',
    '2100-01-01 00:00:00+00',
    [{ name: 'latchkey.ban', value: '2100-01-01T00:00:00.000Z import' }],
  ],
  ['banned_until', 'infinity', [{ name: 'latchkey.ban', value: 'forever import' }]],
  ['banned_until', '2020-01-01', []],
  ['language', 'fr', [{ name: 'language', value: 'fr' }]],
])('%s %s becomes %j', (column, text, properties) => {
  expect(parse({ [column]: text })).toMatchObject({ account: { properties }, faults: [] })
})
