import { describe, expect, it } from 'vitest'
import { createInHand } from './pending-attempts.ts'

describe('attempts in hand', () => {
  it('go on in the order in which they came, as those before them end', async () => {
    const inHand = createInHand(2)
    const begun: number[] = []
    const places = [0, 1, 2, 3, 4].map((index) => {
      const place = inHand.enter(['key'])
      void place.until((ahead) => (ahead.get('key') ?? 0) < 2).then(() => begun.push(index))
      return place
    })
    await Promise.resolve()
    expect(begun).toEqual([0, 1])
    for (const [index, place] of places.entries()) {
      place.leave()
      await Promise.resolve()
      expect(begun).toEqual([0, 1, 2, 3, 4].slice(0, index + 3))
    }
    expect(inHand.count('key')).toBe(0)
  })

  it('cost the same each in a line of thousands', () => {
    const inHand = createInHand(10)
    let asked = 0
    const places = Array.from({ length: 5_000 }, () => {
      const place = inHand.enter(['address', 'account'])
      void place.until((ahead) => {
        asked++
        return ahead.get('address') === 0
      })
      return place
    })
    for (const place of places) place.leave()
    expect(asked).toBeLessThan(5_000 * 25)
  })
})
