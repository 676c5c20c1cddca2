/** What a two-sided rank test of Mann and Whitney says about two samples. */
export interface RankTest {
  /** The share of pairs in which the first is above the second; 0.5 where neither tends to be. */
  shareAbove: number
  /** The probability of a share at least this far from 0.5 if both samples come from the same distribution. */
  p: number
}

/** Compares two samples by the normal approximation, with the correction for ties. */
export function compareRanks(first: readonly number[], second: readonly number[]): RankTest {
  const { shareAbove, tied } = rank(first, second)
  const [n, m] = [first.length, second.length]
  const all = n + m
  const variance = ((n * m) / 12) * (all + 1 - tied / (all * (all - 1)))
  const z = variance > 0 ? (n * m * (shareAbove - 0.5)) / Math.sqrt(variance) : 0
  return { shareAbove, p: 2 * tailOf(Math.abs(z)) }
}

/**
 * The smallest shift of one sample that a test of two samples of this size and distribution detects at `level` with the
 * probability `power` (Noether 1987), in the unit of the sample.
 */
export function detectableShift(sample: readonly number[], level: number, power: number): number {
  const size = sample.length
  const distance =
    (quantileOf(1 - level / 2) + quantileOf(power)) * Math.sqrt((2 * size + 1) / (12 * size * size))
  const isDetected = (shift: number) =>
    rank(
      sample.map((value) => value + shift),
      sample,
    ).shareAbove -
      0.5 >=
    distance
  return bisect(isDetected, Math.max(...sample) - Math.min(...sample))
}

/** How often the first is above the second, half of the ties included, and the sum of t³ - t over the groups of ties. */
function rank(first: readonly number[], second: readonly number[]): { shareAbove: number; tied: number } {
  const all = [
    ...first.map((value) => ({ value, isFirst: true })),
    ...second.map((value) => ({ value, isFirst: false })),
  ].sort((one, other) => one.value - other.value)
  let [above, below, tied] = [0, 0, 0]
  for (let start = 0; start < all.length; ) {
    let end = start
    let firsts = 0
    for (; end < all.length && all[end]?.value === all[start]?.value; end++) if (all[end]?.isFirst) firsts++
    const seconds = end - start - firsts
    above += firsts * (below + seconds / 2)
    below += seconds
    tied += (end - start) ** 3 - (end - start)
    start = end
  }
  return { shareAbove: above / (first.length * second.length), tied }
}

/** The least value up to `end` for which `holds` is true; it is false below and true above. */
function bisect(holds: (value: number) => boolean, end: number): number {
  let [low, high] = [0, end]
  for (let step = 0; step < 40; step++) {
    const middle = (low + high) / 2
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}

/** Numerical Recipes, erfcc: a relative error below 1.2e-7. */
const ERFC = [
  -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587,
  -0.82215223, 0.17087277,
]

/** The probability above `z`, which is not negative, of the standard normal distribution. */
function tailOf(z: number): number {
  const x = z / Math.SQRT2
  const t = 1 / (1 + x / 2)
  const exponent = ERFC.reduceRight((sum, coefficient) => sum * t + coefficient, 0)
  return (t * Math.exp(exponent - x * x)) / 2
}

/** The value below which the standard normal distribution has `share`, from 0.5 to 1. */
const quantileOf = (share: number): number => bisect((z) => tailOf(z) <= 1 - share, 10)
