import { expect, it } from 'vitest'
import { parseSeconds } from './option-values.ts'

it.each([
  { text: '5', seconds: 5 },
  { text: '0.5', seconds: 0.5 },
  { text: '5s', seconds: 5 },
  { text: '500ms', seconds: 0.5 },
  { text: '2m', seconds: 120 },
  { text: '1h', seconds: 3600 },
])('reads $text as $seconds seconds', ({ text, seconds }) => {
  expect(parseSeconds(text)).toBe(seconds)
})

it.each(['2 m', '2d', '-1', '', '25h'])('refuses %j', (text) => {
  expect(() => parseSeconds(text)).toThrow('Give seconds from 0 to 86400')
})
