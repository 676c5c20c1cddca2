import { expect, it } from 'vitest'
import { displayName, username } from './account-names.ts'
import { emailAddress } from './email-address.ts'

const ZWNJ = '\u200c'
const ZWJ = '\u200d'

it.each([
  ['a zero-width space', 'a\u200bda'],
  ['a soft hyphen', 'a\u00adda'],
  ['a bidi override', 'a\u202eda'],
  ['a bidi isolate', 'a\u2066da'],
  ['a tag', 'ada\u{e0061}'],
  ['a variation selector', 'ada\ufe0f'],
  ['a filler', 'ada\u3164'],
  ['an empty braille pattern', 'ada\u2800'],
  ['a wide space', 'a\u2003da'],
  ['a private character', 'ada\ue000'],
  ['a joiner between letters of Latin', `a${ZWJ}da`],
  ['a non-joiner after an Arabic letter that does not join', `\u0631${ZWNJ}\u0645`],
  ['a non-joiner at the end', `\u0645\u06cc${ZWNJ}`],
])('a username and an e-mail have no %s', (_, text) => {
  expect(username().safeParse(text).error?.issues).toMatchObject([
    { message: 'must not contain invisible characters' },
  ])
  expect(emailAddress().safeParse(`${text}@example.com`).success).toBe(false)
})

it.each([
  ['Persian with a non-joiner', `\u0645\u06cc${ZWNJ}\u062e\u0648\u0627\u0647\u0645`],
  ['Sinhala with a joiner', `\u0dc1\u0dca${ZWJ}\u0dbb\u0dd3`],
  ['Devanagari with a non-joiner', `\u0915\u094d${ZWNJ}\u0937`],
  ['Hebrew, an emoji, a space', '\u05d0\u05d3\u05d4 🦊 1'],
])('a username may be %s', (_, text) => {
  expect(username().safeParse(text).error).toBeUndefined()
})

it.each([
  ['a family', `👩${ZWJ}👩${ZWJ}👧`, true],
  ['a heart', '❤\ufe0f', true],
  ['a bidi override', 'Ada\u202e', false],
  ['a direction mark', 'Ada\u200f', false],
  ['a tag', 'Ada\u{e0041}', false],
  ['a line separator', 'Ada\u2028Lovelace', false],
])('whether a name may have %s', (_, text, isAllowed) => {
  expect(displayName().safeParse(text).success).toBe(isAllowed)
})
