import { describe, expect, it } from 'vitest'
import { compareRanks, detectableShift } from './rank-test.ts'

/** A generator of uniform numbers below 1 (mulberry32), so that each run has the same samples. */
function uniforms(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Latencies: most about 1, some much longer. */
const latencies = (seed: number, size: number, shift = 0): number[] => {
  const next = uniforms(seed)
  return Array.from({ length: size }, () => 1 - Math.log(1 - next()) * 0.2 + (next() < 0.02 ? 5 : 0) + shift)
}

describe('compareRanks', () => {
  it.each([
    // scipy.stats.mannwhitneyu(…, method='asymptotic', use_continuity=False)
    { first: [1, 2, 3, 4, 5], second: [6, 7, 8, 9, 10], shareAbove: 0, p: 0.009_023 },
    { first: [19, 22, 16, 29, 24], second: [20, 11, 17, 12], shareAbove: 0.85, p: 0.086_411 },
    { first: [1, 1, 2, 2], second: [1, 2, 2, 3], shareAbove: 0.3125, p: 0.342_782 },
    { first: [1, 1], second: [1, 1], shareAbove: 0.5, p: 1 },
  ])('of $first and $second gives $p', ({ first, second, shareAbove, p }) => {
    const found = compareRanks(first, second)
    expect(found.shareAbove).toBeCloseTo(shareAbove, 10)
    expect(found.p).toBeCloseTo(p, 5)
  })

  it('finds one difference in a hundred where there is none', () => {
    const found = Array.from({ length: 1_000 }, (_, run) =>
      compareRanks(latencies(2 * run, 100), latencies(2 * run + 1, 100)),
    ).filter(({ p }) => p < 0.01)
    expect(found.length).toBeGreaterThan(2)
    expect(found.length).toBeLessThan(25)
  })
})

describe('detectableShift', () => {
  it.each([0.8, 0.95])('is found as often as it says: %d', (power) => {
    const shift = detectableShift(latencies(1, 200), 0.01, power)
    const runs = 400
    const found = Array.from({ length: runs }, (_, run) =>
      compareRanks(latencies(2 * run + 10, 200, shift), latencies(2 * run + 11, 200)),
    ).filter(({ p }) => p < 0.01).length
    expect(found / runs).toBeGreaterThan(power - 0.15)
    expect(found / runs).toBeLessThan(power + 0.15)
  })

  it('is less for more samples', () => {
    const [few, many] = [100, 1_000].map((size) => detectableShift(latencies(1, size), 0.01, 0.8))
    expect(many).toBeLessThan(few ?? 0)
  })
})
