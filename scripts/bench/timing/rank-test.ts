/** The result of a rank test of Mann and Whitney on two samples. */
export interface RankTest {
  /** The share of pairs in which the first is above the second; 0.5 where neither tends to be. */
  shareAbove: number
  /** The distance of that share from 0.5 in standard deviations, if both samples come from the same distribution. */
  deviations: number
}

/** Compares two samples by the normal approximation. Times in fractions of a microsecond have hardly any ties. */
export function compareRanks(first: readonly number[], second: readonly number[]): RankTest {
  const [n, m] = [first.length, second.length]
  let above = 0
  for (const value of first)
    for (const other of second) above += value === other ? 0.5 : Number(value > other)
  const shareAbove = above / (n * m)
  const deviation = Math.sqrt((n + m + 1) / (12 * n * m))
  return { shareAbove, deviations: Math.abs(shareAbove - 0.5) / deviation }
}
