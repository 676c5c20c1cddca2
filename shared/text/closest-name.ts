/** The number of edits above which a word is another one. */
const MAX_DISTANCE = 2
/** The part of its letters that a mistyped word shares at least with the word that is meant. */
const MIN_SIMILARITY = 0.6

/** The candidate that is most similar to a mistyped word, case aside; undefined where none is similar. */
export function closestName(
  word: string,
  candidates: Iterable<string>,
  maxDistance: number = MAX_DISTANCE,
): string | undefined {
  let closest: string | undefined
  let least = maxDistance + 1
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

/** The one of `known` that `name` is a typing error away from; undefined where it is one of them. */
export const findMisspelt = (name: string, known: readonly string[]): string | undefined =>
  known.includes(name) ? undefined : closestName(name, known, 1)

/** The number of letters added, left out, changed or swapped with their neighbour (optimal string alignment). */
function distanceOf(one: string, other: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let row = 0; row < one.length; row++) {
    const next = [row + 1]
    for (let column = 0; column < other.length; column++) {
      const changed = (last[column] ?? 0) + (one[row] === other[column] ? 0 : 1)
      const isSwapped = row > 0 && one[row] === other[column - 1] && one[row - 1] === other[column]
      const swapped = isSwapped ? (beforeLast[column - 1] ?? 0) + 1 : changed
      next.push(Math.min(changed, swapped, (last[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    beforeLast = last
    last = next
  }
  return last.at(-1) ?? 0
}
