import { findViolations, type PasswordPolicy, rulesOf } from '@latchkey/shared/passwords/password-policy.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { keepsRule } from '../src/password-rules.js'

const POLICY: PasswordPolicy = {
  MINIMUM_CHARS: 12,
  REQUIRE_UPPERCASE: 1,
  REQUIRE_LOWERCASE: 2,
  REQUIRE_SYMBOLS: 1,
  REQUIRE_NUMBERS: 2,
  ALLOW_WHITESPACE: 0,
  ALLOW_SEQUENTIAL: 0,
  ALLOW_REPEATED: 0,
  PASSWORD_HASH: 'argon2id',
}
const SHOWN = rulesOf(POLICY).filter(({ rule }) => !rule.startsWith('MAXIMUM_'))

it('ticks the rules that the server finds kept, whatever is typed', () => {
  const letters = fc.constantFrom(...'aAbBcCxyz089 \t-_!€éÉıİßǅ٣😀e\u0301')
  const password = fc.oneof(fc.string({ unit: letters }), fc.string({ unit: 'grapheme' }))
  fc.assert(
    fc.property(password, (typed) => {
      fc.pre(typed !== '')
      const broken = new Set(findViolations(typed, POLICY))
      for (const each of SHOWN)
        expect([each.rule, keepsRule(typed, each)]).toEqual([each.rule, !broken.has(each.rule)])
    }),
    { seed: Number(process.env.TEST_SEED ?? 1), numRuns: 2_000 },
  )
})

it.each([
  { what: 'nothing is typed', password: '', rule: 'ALLOW_REPEATED' },
  { what: 'the rule is of a newer server', password: 'anything', rule: 'REQUIRE_EMOJI' },
])('ticks nothing where $what', ({ password, rule }) => {
  expect(keepsRule(password, { rule, number: 0 })).toBe(false)
})
