import { expect, it, vi } from 'vitest'
import { createRequestCounter } from './request-counter.ts'

const counter = () => createRequestCounter({ windowMs: 60_000, unlessPaused: (work) => work() })

it('counts each event at once', () => {
  const { count } = counter()
  expect([count('a'), count('b'), count('a')].map(({ current }) => current)).toEqual([1, 1, 2])
})

it('begins again when the window ends', () => {
  const { count } = counter()
  const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
  try {
    expect(count('key')).toEqual({ current: 1, retryAfterSeconds: 60 })
    now.mockReturnValue(1_059_999)
    expect(count('key')).toEqual({ current: 2, retryAfterSeconds: 1 })
    now.mockReturnValue(1_060_000)
    expect(count('key')).toEqual({ current: 1, retryAfterSeconds: 60 })
  } finally {
    now.mockRestore()
  }
})

it('remembers an address among tens of thousands', () => {
  const { count } = counter()
  count('attacker')
  for (let key = 0; key < 20_000; key++) count(`invented-${key}`)
  expect(count('attacker').current).toBe(2)
})
