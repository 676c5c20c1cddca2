import { expect, it } from 'vitest'
import { closestName, didYouMean, findMisspelt } from './closest-name.ts'

it.each([
  { word: 'tik', candidates: ['tack', 'tick', 'stop'], closest: 'tick' },
  { word: 'importre', candidates: ['importer', 'exporter'], closest: 'importer' },
  { word: 'SEND', candidates: ['send'], closest: 'send' },
  { word: 'x', candidates: ['y', 'z'], closest: undefined },
  { word: 'report', candidates: ['delete'], closest: undefined },
  { word: 'App\\Nope', candidates: ['App\\Imps'], closest: undefined },
  { word: 'crash', candidates: ['ssh'], closest: undefined },
  { word: 'a', candidates: [], closest: undefined },
])('finds $closest for $word', ({ word, candidates, closest }) => {
  expect(closestName(word, candidates)).toBe(closest)
})

it('asks in the words of the other messages', () => {
  expect(didYouMean('tik', ['tick'])).toBe(' (did you mean tick?)')
  expect(didYouMean('tik', ['stop'])).toBe('')
})

it.each([
  { why: 'changed', name: 'ABCDEX', meant: 'ABCDEF' },
  { why: 'added in front', name: 'XABCDEF', meant: 'ABCDEF' },
  { why: 'added at the end', name: 'ABCDEFX', meant: 'ABCDEF' },
  { why: 'left out at the end', name: 'MAIL_FRO', meant: 'MAIL_FROM' },
  { why: 'left out in front', name: 'BCDEF', meant: 'ABCDEF' },
  { why: 'swapped', name: 'MAIL_FORM', meant: 'MAIL_FROM' },
  { why: 'in lower case', name: 'mail_from', meant: 'MAIL_FROM' },
  { why: 'swapped with another', name: 'MAIL_FXRM', meant: undefined },
  { why: 'swapped for another', name: 'MAIL_FOXM', meant: undefined },
  { why: 'swapped, and changed', name: 'MAIL_FORX', meant: undefined },
  { why: 'changed twice', name: 'MAIL_XXOM', meant: undefined },
  { why: 'not changed', name: 'ABCDEF', meant: undefined },
])('finds the name that another is one typing error away from, $why: $name', ({ name, meant }) => {
  expect(findMisspelt(name, ['ABCDEF', 'MAIL_FROM'])).toBe(meant)
})
