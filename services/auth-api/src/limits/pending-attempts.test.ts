import { describe, expect, it } from 'vitest'
import { createPendingAttempts } from './pending-attempts.ts'

describe('pending attempts', () => {
  it('begin in the order of their arrival, as earlier ones end', async () => {
    const pending = createPendingAttempts(2)
    const begun: number[] = []
    const attempts = [0, 1, 2, 3, 4].map((index) => {
      const attempt = pending.begin(['key'])
      void attempt.until((earlier) => (earlier.get('key') ?? 0) < 2).then(() => begun.push(index))
      return attempt
    })
    await Promise.resolve()
    expect(begun).toEqual([0, 1])
    for (const [index, attempt] of attempts.entries()) {
      attempt.end()
      await Promise.resolve()
      expect(begun).toEqual([0, 1, 2, 3, 4].slice(0, index + 3))
    }
    expect(pending.count('key')).toBe(0)
    expect(pending.size(), 'what has ended takes no memory').toBe(0)
  })

  it('cost the same each in a queue of thousands', () => {
    const pending = createPendingAttempts(10)
    let checks = 0
    const attempts = Array.from({ length: 5_000 }, () => {
      const attempt = pending.begin(['address', 'account'])
      void attempt.until((earlier) => {
        checks++
        return earlier.get('address') === 0
      })
      return attempt
    })
    for (const attempt of attempts) attempt.end()
    expect(checks).toBeLessThan(5_000 * 25)
  })
})
