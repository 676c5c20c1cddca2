import { expect, it } from 'vitest'
import { parseDuration } from './duration.ts'

it.each([
  { text: '5', seconds: 5 },
  { text: '0.5', seconds: 0.5 },
  { text: '5s', seconds: 5 },
  { text: '500ms', seconds: 0.5 },
  { text: '2m', seconds: 120 },
  { text: '1h', seconds: 3600 },
  { text: '2 m', seconds: undefined },
  { text: '2d', seconds: undefined },
  { text: '-1', seconds: undefined },
  { text: '', seconds: undefined },
])('reads $text as $seconds seconds', ({ text, seconds }) => {
  expect(parseDuration(text)).toBe(seconds)
})
