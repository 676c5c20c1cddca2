import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A mutant, described so that it is found again after lines above it have changed. */
export interface MutantText {
  file: string
  /** The line in which it begins, without indentation. */
  line: string
  original: string
  replacement: string
}

export type Verdict = 'killed' | 'survived' | 'timed out'

export interface TestedMutant extends MutantText {
  lineNumber: number
  verdict: Verdict
}

/** A mutant that no test has to kill. */
export interface Survivor extends MutantText {
  /** Why it is harmless. */
  reason: string
}

export interface Comparison {
  /** Survived, and not listed. */
  unlisted: TestedMutant[]
  /** Listed, and killed by a test meanwhile. */
  killed: Survivor[]
  /** Listed, and no mutant of the code anymore. */
  gone: Survivor[]
}

export const SURVIVORS_FILE = join(import.meta.dirname, 'survivors.json')

export const readSurvivors = (): Survivor[] => JSON.parse(readFileSync(SURVIVORS_FILE, 'utf8'))

/** Compares the mutants that were tested with the list of `survivors` of the same files. */
export function compareSurvivors(
  mutants: readonly TestedMutant[],
  survivors: readonly Survivor[],
): Comparison {
  const verdicts = Map.groupBy(mutants, keyOf)
  const listed = new Set(survivors.map(keyOf))
  const verdictsOf = (survivor: Survivor) => verdicts.get(keyOf(survivor))
  return {
    unlisted: mutants.filter((mutant) => mutant.verdict === 'survived' && !listed.has(keyOf(mutant))),
    killed: survivors.filter((survivor) =>
      verdictsOf(survivor)?.every(({ verdict }) => verdict === 'killed'),
    ),
    gone: survivors.filter((survivor) => !verdictsOf(survivor)),
  }
}

/** The share of mutants that a test kills, in per cent. One that times out is not counted as killed. */
export function scoreOf(mutants: readonly TestedMutant[]): number {
  if (mutants.length === 0) return 100
  return (100 * mutants.filter(({ verdict }) => verdict === 'killed').length) / mutants.length
}

const keyOf = ({ file, line, original, replacement }: MutantText): string =>
  JSON.stringify([file, line, original, replacement])
