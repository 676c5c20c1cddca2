import { describe, expect, it } from 'vitest'
import { quoteSystemdWord } from './systemd-grammar.ts'

describe('quoteSystemdWord', () => {
  it.each([
    { word: '', quoted: '""' },
    { word: ';', quoted: '";"' },
    { word: 'say "hi"', quoted: '"say \\"hi\\""' },
    { word: '\\n', quoted: '"\\\\n"' },
    { word: '$HOME %i', quoted: '"$$HOME %%i"' },
    { word: 'a\nb\tc', quoted: '"a\\nb\\tc"' },
    { word: '\u0001\u007f\u0085', quoted: '"\\x01\\x7f\\xc2\\x85"' },
    { word: 'é', quoted: '"é"' },
  ])('writes $word as $quoted', ({ word, quoted }) => {
    expect(quoteSystemdWord(word)).toBe(quoted)
  })
})
