import { afterEach, expect, it, vi } from 'vitest'
import { parseSeconds, parseTimeBefore } from './option-values.ts'

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

afterEach(() => void vi.useRealTimers().unstubAllEnvs())

it.each([
  { text: '30m', time: '2026-11-28T02:30:00.000Z' },
  { text: '2h', time: '2026-11-28T01:00:00.000Z' },
  { text: '1d', time: '2026-11-27T03:00:00.000Z' },
  { text: '2026-11-28', time: '2026-11-27T18:30:00.000Z' },
  { text: '2026-11-28 03:00', time: '2026-11-27T21:30:00.000Z' },
  { text: '2026-11-28T03:00:00Z', time: '2026-11-28T03:00:00.000Z' },
  { text: '2026-11-28T03:00:00+01:00', time: '2026-11-28T02:00:00.000Z' },
])('reads $text in a zone of +05:30 as $time', ({ text, time }) => {
  vi.stubEnv('TZ', 'Asia/Kolkata')
  vi.useFakeTimers({ now: new Date('2026-11-28T03:00:00Z') })
  expect(parseTimeBefore(text).toISOString()).toBe(time)
})

it.each(['', 'yesterday', '2 h', '2026-13-01', '03:00', '1', '28.11.2026'])('refuses the time %j', (text) => {
  expect(() => parseTimeBefore(text)).toThrow('Give a time such as 30m')
})
