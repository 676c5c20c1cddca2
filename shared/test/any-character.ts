import fc from 'fast-check'

const FIRST_SURROGATE = 0xd800
const SURROGATES = 0x800

/**
 * Any character, for `fc.string({ unit: anyCharacter })`; no half of a surrogate pair. `unit: 'binary'` of fast-check has
 * the same characters, and takes a second for a map of all 1.1 million of them.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - SURROGATES }).map(
  (index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES),
  (character) => {
    const [codePoint, ...others] = Array.from(String(character), (each) => each.codePointAt(0) ?? 0)
    // fast-check takes an error for no: it asks whether a text that is known to cause trouble has such characters.
    if (codePoint === undefined || others.length > 0) throw new Error('is not one character')
    return codePoint < FIRST_SURROGATE ? codePoint : codePoint - SURROGATES
  },
)
