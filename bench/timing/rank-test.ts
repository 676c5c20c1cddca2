/** What a rank test of Mann and Whitney says about two samples. */
export interface RankTest {
  /** The share of pairs in which the first is above the second; 0.5 where neither tends to be. */
  shareAbove: number
  /** How many standard deviations that share is away from 0.5, if both samples come from the same distribution. */
  deviations: number
}

/** Compares two samples by the normal approximation. Times in fractions of a microsecond have hardly any ties. */
export function compareRanks(first: readonly number[], second: readonly number[]): RankTest {
  const [n, m] = [first.length, second.length]
  const sorted = second.toSorted((a, b) => a - b)
  let above = 0
  for (const value of first) above += (countBelow(sorted, value) + countBelow(sorted, value, true)) / 2
  const shareAbove = above / (n * m)
  const deviation = Math.sqrt((n + m + 1) / (12 * n * m))
  return { shareAbove, deviations: Math.abs(shareAbove - 0.5) / deviation }
}

/** How many of a sorted list are below a value, or at most as large. */
function countBelow(sorted: readonly number[], value: number, orEqual = false): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    const each = sorted[middle] ?? Number.NaN
    if (each < value || (orEqual && each === value)) low = middle + 1
    else high = middle
  }
  return low
}
