import { compareSurvivors, type Survivor, scoreOf, type TestedMutant } from './survivors.ts'

/** The least share of mutants that the tests kill, in per cent. */
const THRESHOLD = 90

/** The mutants of one area. */
export interface AreaResult {
  name: string
  mutants: readonly TestedMutant[]
  seconds: number
}

/** What a run has found, as text, and whether it fails. */
export interface Report {
  text: string
  isFailure: boolean
  /** Survivors that are not in the list. */
  unlisted: readonly TestedMutant[]
}

/** Reports on all mutants of some areas: each needs the least score, and a list of exactly its survivors. */
export function reportAreas(results: readonly AreaResult[], survivors: readonly Survivor[]): Report {
  const mutants = results.flatMap((each) => each.mutants)
  const { unlisted, killed, gone } = compareSurvivors(mutants, listedAmong(mutants, survivors))
  const low = results.filter((each) => scoreOf(each.mutants) < THRESHOLD).map(({ name }) => name)
  return {
    unlisted,
    isFailure: low.length + unlisted.length + killed.length + gone.length > 0,
    text: joinSections([
      ...describeMutants(mutants, unlisted),
      section('Listed as survivors, but killed: remove them from the list', killed),
      section('Listed as survivors, but not in the code: remove them from the list', gone),
      formatScores(results),
      low.length > 0 ? `Less than ${THRESHOLD} % killed: ${low.join(', ')}` : '',
    ]),
  }
}

/**
 * Reports on the mutants of changed lines, which together need the least score. Listed survivors do not count: a change
 * of one line must not fail for a mutant that is known as harmless.
 */
export function reportChanges(results: readonly AreaResult[], survivors: readonly Survivor[]): Report {
  const mutants = results.flatMap((each) => each.mutants)
  const { unlisted } = compareSurvivors(mutants, listedAmong(mutants, survivors))
  const score = scoreOf(mutants.filter((each) => each.verdict !== 'survived' || unlisted.includes(each)))
  const isFailure = score < THRESHOLD
  return {
    unlisted,
    isFailure,
    text: joinSections([
      ...describeMutants(mutants, unlisted),
      formatScores(results),
      `${score.toFixed(1)} % killed of the mutants in changed lines that are not listed; at least ${THRESHOLD} % have to be`,
    ]),
  }
}

const listedAmong = (mutants: readonly TestedMutant[], survivors: readonly Survivor[]): Survivor[] => {
  const files = new Set(mutants.map(({ file }) => file))
  return survivors.filter(({ file }) => files.has(file))
}

const describeMutants = (mutants: readonly TestedMutant[], unlisted: readonly TestedMutant[]): string[] => [
  section(
    'Timed out, which does not count as killed',
    mutants.filter(({ verdict }) => verdict === 'timed out'),
  ),
  section(
    'Survived: write a test that fails, or list the mutant with the reason why it is harmless',
    unlisted,
  ),
]

function section(title: string, mutants: readonly (TestedMutant | Survivor)[]): string {
  if (mutants.length === 0) return ''
  const lines = mutants.map((mutant) => {
    const place = 'lineNumber' in mutant ? `${mutant.file}:${mutant.lineNumber}` : mutant.file
    return `  ${place}: ${mutant.line}\n      ${mutant.original} → ${mutant.replacement}`
  })
  return [`${title}:`, ...lines].join('\n')
}

/** A table in Markdown. */
function formatScores(results: readonly AreaResult[]): string {
  const all = {
    name: 'all',
    mutants: results.flatMap(({ mutants }) => mutants),
    seconds: results.reduce((sum, { seconds }) => sum + seconds, 0),
  }
  return [
    '| area | killed | mutants | survived | timed out | seconds |',
    '|---|---|---|---|---|---|',
    ...[...results, all].map(toRow),
  ].join('\n')
}

function toRow({ name, mutants, seconds }: AreaResult): string {
  const count = (verdict: TestedMutant['verdict']) =>
    mutants.filter((each) => each.verdict === verdict).length
  const score = `${scoreOf(mutants).toFixed(1)} %`
  const cells = [name, score, mutants.length, count('survived'), count('timed out'), Math.round(seconds)]
  return `| ${cells.join(' | ')} |`
}

const joinSections = (sections: readonly string[]): string => sections.filter(Boolean).join('\n\n')
