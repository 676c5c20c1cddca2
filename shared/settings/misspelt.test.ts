import { expect, it } from 'vitest'
import { findMisspelt } from './misspelt.ts'

const settings = { HOST: 0, ABCDE: 0, ABCDEF: 0, MAIL_FROM: 0 }

it.each([
  { why: 'changed', name: 'ABCDEX', meant: 'ABCDEF' },
  { why: 'added in front', name: 'XABCDEF', meant: 'ABCDEF' },
  { why: 'added at the end', name: 'ABCDEFX', meant: 'ABCDEF' },
  { why: 'left out at the end', name: 'MAIL_FRO', meant: 'MAIL_FROM' },
  { why: 'left out in front', name: 'BCDEF', meant: 'ABCDEF' },
  { why: 'swapped', name: 'MAIL_FORM', meant: 'MAIL_FROM' },
  { why: 'swapped with another', name: 'MAIL_FXRM', meant: undefined },
  { why: 'swapped for another', name: 'MAIL_FOXM', meant: undefined },
  { why: 'swapped, and changed', name: 'MAIL_FORX', meant: undefined },
  { why: 'changed twice', name: 'MAIL_XXOM', meant: undefined },
  { why: 'changed in a short name', name: 'ABCDX', meant: undefined },
  { why: 'not changed', name: 'ABCDEF', meant: undefined },
])('finds the setting that a name is one edit away from, $why: $name', ({ name, meant }) => {
  expect(findMisspelt(name, settings)).toBe(meant)
})
