import { describe, expect, it } from 'vitest'
import { findViolations } from './password-policy.ts'
import { SCHEME_NAMES } from './password-scheme.ts'
import { DEFAULT_POLICY } from './test/default-policy.ts'

const GOOD = '!P4ssw0rdstr!'

describe('findViolations', () => {
  it.each([GOOD, 'Ünïcödé-Wörd7', 'ПарольКорот-7', '🗝Kx7🗝Lw9🗝Mz2', 'a1!Ba1!Ba2?C'])(
    'accepts %s',
    (password) => {
      expect(findViolations(password, DEFAULT_POLICY)).toEqual([])
    },
  )

  it.each([
    ['Sh0rt!', ['MINIMUM_CHARS']],
    ['🗝🗝🗝🗝🗝A7b', ['MINIMUM_CHARS', 'ALLOW_REPEATED']],
    ['!p4ssw0rdstr!', ['REQUIRE_UPPERCASE']],
    ['!P4SSW0RDSTR!', ['REQUIRE_LOWERCASE']],
    ['xP4ssw0rdstrx', ['REQUIRE_SYMBOLS']],
    ['!Passwordstr!', ['REQUIRE_NUMBERS']],
    ['!P4ss w0rdstr', ['ALLOW_WHITESPACE']],
    ['!P4ss\u00a0w0rdstr', ['ALLOW_WHITESPACE']],
    ['!P4sswabcrdst!', ['ALLOW_SEQUENTIAL']],
    ['!P4sswCbArdst!', ['ALLOW_SEQUENTIAL']],
    ['!Passw890rdst!', ['ALLOW_SEQUENTIAL']],
    ['!Passw098rdst!', ['ALLOW_SEQUENTIAL']],
    ['!P4sswxYzrdst!', ['ALLOW_SEQUENTIAL']],
    ['!P4sssw0rdstr!', ['ALLOW_REPEATED']],
    ['!P4ababab0rdt!', ['ALLOW_REPEATED']],
    [
      '            ',
      [
        'REQUIRE_UPPERCASE',
        'REQUIRE_LOWERCASE',
        'REQUIRE_SYMBOLS',
        'REQUIRE_NUMBERS',
        'ALLOW_WHITESPACE',
        'ALLOW_REPEATED',
      ],
    ],
    [`!P4${'qw7X'.repeat(64)}`, ['MAXIMUM_CHARS']],
  ])('refuses %s', (password, violations) => {
    expect(
      findViolations(password, DEFAULT_POLICY).filter(
        (rule) => rule !== 'ALLOW_REPEATED' || violations.includes(rule),
      ),
    ).toEqual(violations)
  })

  it.each(['za!', '901', 'ab1', 'aab', 'abab'])(
    'does not take %s for a sequence or a repetition',
    (piece) => {
      expect(findViolations(`X!${piece}-kQ7w-mP4`, DEFAULT_POLICY)).toEqual([])
    },
  )

  it('counts a composed character as one, however it was typed', () => {
    expect('Pa\u0308sswo\u0308rt-1x').toHaveLength(13)
    expect(findViolations('Pa\u0308sswo\u0308rt-1x', DEFAULT_POLICY)).toEqual(['MINIMUM_CHARS'])
  })

  it.each([
    ['MINIMUM_CHARS', 20, '!P4ssw0rdstr!', ['MINIMUM_CHARS']],
    ['REQUIRE_SYMBOLS', 3, '!P4ssw0rdstr!', ['REQUIRE_SYMBOLS']],
    ['REQUIRE_SYMBOLS', 0, 'xP4ssw0rdstrx', []],
    ['REQUIRE_UPPERCASE', 0, '!p4ssw0rdstr!', []],
    ['ALLOW_WHITESPACE', 1, '!P4ss w0rdstr', []],
    ['ALLOW_SEQUENTIAL', 1, '!P4sswabcrdst!', []],
    ['ALLOW_REPEATED', 1, '!P4sssw0rdstr!', []],
  ] as const)('follows %s=%i', (rule, value, password, violations) => {
    expect(findViolations(password, { ...DEFAULT_POLICY, [rule]: value })).toEqual(violations)
  })

  // ASCII, umlauts that are typed as two code points, and emoji: 72 bytes each.
  const WHOLE = {
    ascii: 'Aq7!kP9-'.repeat(9),
    decomposed: `Aq7!${'u\u0308'.repeat(34)}`,
    emoji: `Aq7!${'🗝'.repeat(17)}`,
  }
  it.each(
    Object.entries(WHOLE).flatMap(([kind, whole]) =>
      SCHEME_NAMES.map((scheme) => ({ kind, whole, scheme, isLimited: scheme === 'bcrypt' })),
    ),
  )('lets no byte of $kind text be left out of a hash by $scheme', ({ whole, scheme, isLimited }) => {
    const policy = { ...DEFAULT_POLICY, ALLOW_REPEATED: 1, PASSWORD_HASH: scheme }
    expect(findViolations(whole, policy)).toEqual([])
    expect(findViolations(`${whole}x`, policy).includes('MAXIMUM_BYTES')).toBe(isLimited)
  })
})
