/** More edits than these make another word. */
const MAX_DISTANCE = 3
/** A word shares at least this part of its letters with what is meant. */
const MIN_SIMILARITY = 0.4

/** The candidate that is most similar to a mistyped word; undefined where none is similar. */
export function closestName(word: string, candidates: Iterable<string>): string | undefined {
  let closest: string | undefined
  let least = MAX_DISTANCE + 1
  for (const candidate of candidates) {
    const distance = distanceOf(word.toLowerCase(), candidate.toLowerCase())
    const longest = Math.max(word.length, candidate.length)
    if (distance >= least || (longest - distance) / longest < MIN_SIMILARITY) continue
    least = distance
    closest = candidate
  }
  return closest
}

/** ` (did you mean Report?)`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const closest = closestName(word, candidates)
  return closest === undefined ? '' : ` (did you mean ${closest}?)`
}

/** The number of insertions, deletions, replacements and swaps of neighbours between two words (Damerau). */
function distanceOf(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > MAX_DISTANCE) return Number.POSITIVE_INFINITY
  let before: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let row = 1; row <= one.length; row++) {
    const next = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      next[column] = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[column - 2] ?? Number.POSITIVE_INFINITY) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = next
  }
  return last.at(-1) ?? 0
}
