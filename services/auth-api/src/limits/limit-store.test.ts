import { expect, it, vi } from 'vitest'
import { openLimitStore } from './limit-store.ts'

it.each(['postgres://db/x', 'mysql://redis:1/x', 'https://example.com/?redis:'])(
  'opens nothing where the queue is not in Redis: %s',
  (url) => {
    expect(openLimitStore(url, { debug: vi.fn() })).toBeUndefined()
  },
)

it.each(['redis', 'rediss'])('lets no request wait for a Redis that is unavailable: %s:', async (scheme) => {
  const debug = vi.fn()
  const redis = openLimitStore(`${scheme}://127.0.0.1:1`, { debug })
  expect(redis?.options).toMatchObject({
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2_000,
    commandTimeout: 250,
    socketTimeout: 1_000,
  })
  await expect(redis?.get('key')).rejects.toThrow()
  await expect.poll(() => debug.mock.calls.map(([details]) => details.err)).toContainEqual(expect.any(Error))
  redis?.disconnect()
})
