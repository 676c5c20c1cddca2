import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { quoteShellWord } from '../text.ts'
import { escapeSystemdValue, quoteSystemdWord } from './systemd-grammar.ts'
import { quoteUpstartString } from './upstart.ts'

const HOSTILE = [
  '',
  ' ',
  'a b',
  "it's",
  '"double"',
  '$HOME $(id) `id`',
  '100 % %i %%',
  '\\ \\n \\',
  'two\nlines\t',
  '; && | > # ! *',
  '-',
  '--x=y',
  'Áé漢字😀',
  '\u0001\u001b[0m\u007f\u0085',
]

describe('quoteShellWord', () => {
  it('gives a shell the words back as they were', () => {
    const script = `printf '%s\\0' ${HOSTILE.map(quoteShellWord).join(' ')}`
    const words = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1)
    expect(words).toEqual(HOSTILE)
  })
})

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

it('doubles in a whole value of a unit only what is special there', () => {
  expect(escapeSystemdValue('100 % of $HOME "x" \\')).toBe('100 %% of $HOME "x" \\')
})

it('protects quotes and backslashes in a string of upstart', () => {
  expect(quoteUpstartString('say "hi" \\ é $x')).toBe('"say \\"hi\\" \\\\ é $x"')
})
