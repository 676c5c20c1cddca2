import { expect, it, vi } from 'vitest'
import { openLimitStore } from './limit-store.ts'

it.each(['postgres://db/x', 'mysql://redis:1/x', 'https://example.com/?redis:'])(
  'opens nothing where the queue is not in Redis: %s',
  (url) => {
    expect(openLimitStore(url, vi.fn(), { debug: vi.fn() })).toBeUndefined()
  },
)
