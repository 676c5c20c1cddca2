import fc from 'fast-check'
import { expect, it } from 'vitest'
import { anyCharacter } from '../test/any-character.ts'
import { fold } from './user.ts'

/** Letters that are one another's case, with and without accents, in scripts that have case. */
const PAIRS = [...'Aa Éé Öö Ññ Çç Ąą Øø Ωω Жж Ēē'.split(' '), 'A\u030aa\u030a', 'E\u0301e\u0301']
const upper = (pair: string) => pair.slice(0, pair.length / 2)
const lower = (pair: string) => pair.slice(pair.length / 2)
const letters = fc.array(fc.constantFrom(...PAIRS), { minLength: 1 })
const spelling = (pairs: readonly string[], cases: readonly boolean[]) =>
  pairs.map((pair, index) => (cases[index] ? upper(pair) : lower(pair))).join('')

it('compares without regard to case and to the form of Unicode', () => {
  fc.assert(
    fc.property(
      letters,
      fc.infiniteStream(fc.boolean()),
      fc.constantFrom('NFC', 'NFD'),
      (pairs, cases, form) => {
        const chosen = [...cases.take(pairs.length)]
        expect(fold(spelling(pairs, chosen).normalize(form))).toBe(fold(spelling(pairs, [])))
      },
    ),
    { numRuns: 1000 },
  )
})

it.each(['ΟΔΥΣΣΕΥΣ@x.example', 'Οδυσσευς@x.example', 'οδυσσευσ@x.example'])(
  'takes the sigmas of %s for one letter',
  (text) => {
    expect(fold(text)).toBe('οδυσσευσ@x.example')
  },
)

it('tells apart what differs by its accents only', () => {
  const accents = fc.array(fc.constantFrom('', '\u0301', '\u0308', '\u0327'), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(accents, accents, (first, second) => {
      const word = (marks: readonly string[]) => marks.map((mark) => `e${mark}`).join('')
      expect(fold(word(first)) === fold(word(second))).toBe(
        word(first).normalize('NFD') === word(second).normalize('NFD'),
      )
    }),
    { numRuns: 1000 },
  )
})

it('is the same for all forms of any text, and for what it gave', () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      expect(fold(text.normalize('NFD'))).toBe(fold(text))
      expect(fold(text.normalize('NFC'))).toBe(fold(text))
      expect(fold(fold(text))).toBe(fold(text))
    }),
    { numRuns: 500 },
  )
})
