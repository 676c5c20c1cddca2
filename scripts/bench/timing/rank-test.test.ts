import { expect, it } from 'vitest'
import { compareRanks } from './rank-test.ts'

it.each([
  // scipy.stats.mannwhitneyu(…, method='asymptotic', use_continuity=False)
  { first: [1, 2, 3, 4, 5], second: [6, 7, 8, 9, 10], shareAbove: 0, deviations: 2.6112 },
  { first: [19, 22, 16, 29, 24], second: [20, 11, 17, 12], shareAbove: 0.85, deviations: 1.7146 },
  { first: [1, 1], second: [1, 1], shareAbove: 0.5, deviations: 0 },
])('of $first and $second gives $deviations deviations', ({ first, second, shareAbove, deviations }) => {
  const found = compareRanks(first, second)
  expect(found.shareAbove).toBeCloseTo(shareAbove, 10)
  expect(found.deviations).toBeCloseTo(deviations, 3)
})
