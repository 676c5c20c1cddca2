import { SETTINGS } from './definitions.ts'

/** Shorter names have too many neighbours. */
const SHORTEST = 6

/** The one of `settings` that `name` is most likely a misspelling of: one letter added, left out, changed or swapped. */
export function findMisspelt(
  name: string,
  settings: object = SETTINGS,
  shortest: number = SHORTEST,
): string | undefined {
  if (Object.hasOwn(settings, name)) return undefined
  return Object.keys(settings).find((known) => known.length >= shortest && isOneEditAway(name, known))
}

function isOneEditAway(a: string, b: string): boolean {
  // Where one ends, the other differs.
  const start = [...a, undefined].findIndex((letter, at) => letter !== b[at])
  const [restA, restB] = [a.slice(start), b.slice(start)]
  return (
    restA.slice(1) === restB.slice(1) || // changed
    restA.slice(1) === restB || // added
    restA === restB.slice(1) || // left out
    (restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2)) // swapped
  )
}
