import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyCharacter } from '../test/any-character.ts'
import { findViolations, type PasswordPolicy, POLICY_SETTINGS } from './password-policy.ts'
import { SCHEME_NAMES } from './password-scheme.ts'

type Kind = 'upper' | 'lower' | 'digit' | 'symbol' | 'space' | 'other'

/** Characters by their kind, as a person would sort them; decomposed ones count as one. */
const KINDS: Record<Kind, readonly string[]> = {
  upper: [...'ABCXYZÉΩЖ', 'O\u0308'],
  lower: [...'abcxyzéßωж', 'o\u0308'],
  digit: [...'0123789٣'],
  symbol: [...'!-_#€½🗝', '\u200d'],
  space: [' ', '\t', '\u00a0', '\u2003'],
  other: [...'漢字ªא'],
}
type Character = readonly [text: string, kind: Kind]
const CHARACTERS: Character[] = Object.entries(KINDS).flatMap(([kind, texts]) =>
  texts.map((text) => [text, kind as Kind] as const),
)

/** Counts each rule by another algorithm, one character after the other. */
function expectedViolations(characters: readonly Character[], policy: PasswordPolicy): string[] {
  const texts = characters.map(([text]) => text.normalize('NFC'))
  const has = (wanted: Kind) => characters.filter(([, kind]) => kind === wanted).length
  const broken = [
    characters.length < policy.MINIMUM_CHARS && 'MINIMUM_CHARS',
    characters.length > (policy.PASSWORD_HASH === 'bcrypt' ? 72 : 256) && 'MAXIMUM_CHARS',
    policy.PASSWORD_HASH === 'bcrypt' &&
      new TextEncoder().encode(texts.join('')).length > 72 &&
      'MAXIMUM_BYTES',
    has('upper') < policy.REQUIRE_UPPERCASE && 'REQUIRE_UPPERCASE',
    has('lower') < policy.REQUIRE_LOWERCASE && 'REQUIRE_LOWERCASE',
    has('symbol') < policy.REQUIRE_SYMBOLS && 'REQUIRE_SYMBOLS',
    has('digit') < policy.REQUIRE_NUMBERS && 'REQUIRE_NUMBERS',
    policy.ALLOW_WHITESPACE === 0 && has('space') > 0 && 'ALLOW_WHITESPACE',
    policy.ALLOW_SEQUENTIAL === 0 &&
      texts.some((_, at) => isSequence(texts.slice(at, at + 3))) &&
      'ALLOW_SEQUENTIAL',
    policy.ALLOW_REPEATED === 0 && texts.some((_, at) => isRepeated(texts, at)) && 'ALLOW_REPEATED',
  ]
  return broken.filter((rule) => rule !== false)
}

/** Three neighbours of the alphabet or of the keyboard's digits, whose 0 is a 10 as well. */
function isSequence(texts: readonly string[]): boolean {
  if (!texts.every((text) => /^[A-Za-z]$/.test(text)) && !texts.every((text) => /^[0-9]$/.test(text)))
    return false
  const [first = 0, second = 0, third = 0] = texts.map((text) => text.toLowerCase().charCodeAt(0) - 48)
  const asTen = (number: number) => (number === 0 ? 10 : number)
  const isRun = (a: number, b: number, c: number) => Math.abs(b - a) === 1 && c - b === b - a
  return (
    texts.length === 3 &&
    (isRun(first, second, third) || isRun(asTen(first), second, third) || isRun(first, second, asTen(third)))
  )
}

const isRepeated = (texts: readonly string[], at: number): boolean =>
  [1, 2].some((width) => {
    const piece = (times: number) => texts.slice(at + times * width, at + (times + 1) * width).join('\0')
    return at + 3 * width <= texts.length && piece(0) === piece(1) && piece(1) === piece(2)
  })

const policies = (): fc.Arbitrary<PasswordPolicy> =>
  fc
    .tuple(
      ...POLICY_SETTINGS.map((name) =>
        fc.nat({ max: name === 'MINIMUM_CHARS' ? 20 : name.startsWith('ALLOW') ? 1 : 3 }),
      ),
    )
    .map(
      (counts) =>
        Object.fromEntries(POLICY_SETTINGS.map((name, index) => [name, counts[index] ?? 0])) as Omit<
          PasswordPolicy,
          'PASSWORD_HASH'
        >,
    )
    .chain((policy) =>
      fc.constantFrom(...SCHEME_NAMES).map((PASSWORD_HASH) => ({ ...policy, PASSWORD_HASH })),
    )

it('breaks the rules that a count by hand finds broken', () => {
  const characters = fc.array(fc.constantFrom(...CHARACTERS), { maxLength: 24 })
  fc.assert(
    fc.property(characters, policies(), (password, policy) => {
      const text = password.map(([character]) => character).join('')
      expect(findViolations(text, policy).sort()).toEqual(expectedViolations(password, policy).sort())
    }),
    { numRuns: 3000 },
  )
})

it('judges any text, and alike in each of its spellings', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 100 }), policies(), (password, policy) => {
      const violations = findViolations(password, policy)
      expect(findViolations(password.normalize('NFD'), policy)).toEqual(violations)
      expect(findViolations(password.normalize('NFC'), policy)).toEqual(violations)
    }),
    { numRuns: 200 },
  )
})
