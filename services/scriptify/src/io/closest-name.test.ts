import { expect, it } from 'vitest'
import { closestName, didYouMean } from './closest-name.ts'

it.each([
  { word: 'tik', candidates: ['tack', 'tick', 'stop'], closest: 'tick' },
  { word: 'importre', candidates: ['importer', 'exporter'], closest: 'importer' },
  { word: 'SEND', candidates: ['send'], closest: 'send' },
  { word: 'x', candidates: ['y', 'z'], closest: undefined },
  { word: 'report', candidates: ['delete'], closest: undefined },
  { word: 'a', candidates: [], closest: undefined },
])('finds $closest for $word', ({ word, candidates, closest }) => {
  expect(closestName(word, candidates)).toBe(closest)
})

it('asks in the words of the other messages', () => {
  expect(didYouMean('tik', ['tick'])).toBe(' (did you mean tick?)')
  expect(didYouMean('tik', ['stop'])).toBe('')
})
