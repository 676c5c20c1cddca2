/** The number of edits above which a word is another one. */
const MAX_DISTANCE = 3
/** The part of its letters that a mistyped word shares at least with the word that is meant. */
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

/** The number of insertions, deletions and replacements between two words (Levenshtein). */
function distanceOf(one: string, other: string): number {
  let last = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [row, letter] of [...one].entries()) {
    const next = [row + 1]
    for (const [column, otherLetter] of [...other].entries()) {
      const replaced = (last[column] ?? 0) + (letter === otherLetter ? 0 : 1)
      next.push(Math.min(replaced, (last[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    last = next
  }
  return last.at(-1) ?? 0
}
