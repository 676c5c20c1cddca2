import { expect, it } from 'vitest'
import { reportAreas, reportChanges } from './report.ts'
import type { Survivor, TestedMutant, Verdict } from './survivors.ts'

const mutant = (replacement: string, verdict: Verdict = 'killed'): TestedMutant => ({
  file: 'a.ts',
  lineNumber: 7,
  line: 'return a >= b',
  original: 'a >= b',
  replacement,
  verdict,
})
const killed = (count: number) => Array.from({ length: count }, (_, at) => mutant(`${at}`))
const listed = (replacement: string): Survivor => ({
  file: 'a.ts',
  line: 'return a >= b',
  original: 'a >= b',
  replacement,
  reason: 'a never equals b',
})
const area = (mutants: readonly TestedMutant[], name = 'login') => ({ name, mutants, seconds: 1.4 })
const SURVIVED = mutant('a > b', 'survived')

it('prints the score of each area, and of all', () => {
  const { text, isFailure } = reportAreas(
    [area([...killed(19), SURVIVED]), area(killed(20), 'tokens')],
    [listed('a > b')],
  )
  expect(text).toContain('| login | 95.0 % | 20 | 1 | 0 | 1 |\n| tokens | 100.0 % | 20 | 0 | 0 | 1 |')
  expect(text).toContain('| all | 97.5 % | 40 | 1 | 0 | 3 |')
  expect(isFailure).toBe(false)
})

it.each<{ why: string; results: Parameters<typeof reportAreas>[0]; survivors?: Survivor[]; says: RegExp }>([
  {
    why: 'a survivor is not listed',
    results: [area([...killed(19), SURVIVED])],
    says: /Survived: .*\n {2}a\.ts:7: return a >= b\n {6}a >= b → a > b/,
  },
  {
    why: 'a listed survivor is killed',
    results: [area(killed(20))],
    survivors: [listed('0')],
    says: /but killed: .*\n {2}a\.ts: return/,
  },
  {
    why: 'a listed survivor is not in the code',
    results: [area(killed(20))],
    survivors: [listed('a > b')],
    says: /not in the code/,
  },
  {
    why: 'one area is below the least score',
    results: [area(killed(100)), area([...killed(8), SURVIVED], 'tokens')],
    survivors: [listed('a > b')],
    says: /Less than 90 % killed: tokens$/,
  },
  {
    why: 'too many time out',
    results: [area([...killed(8), mutant('a < b', 'timed out')])],
    says: /Timed out.*\n {2}a\.ts:7/,
  },
])('fails when $why', ({ results, survivors = [], says }) => {
  const { text, isFailure } = reportAreas(results, survivors)
  expect(text).toMatch(says)
  expect(isFailure).toBe(true)
})

it('does not ask for the survivors of files that it has not tested', () => {
  const elsewhere = { ...listed('a > b'), file: 'b.ts' }
  expect(reportAreas([area(killed(20))], [elsewhere]).isFailure).toBe(false)
})

it('of changed lines, fails below the least score alone', () => {
  expect(reportChanges([area([...killed(18), SURVIVED, mutant('a', 'survived')])], []).isFailure).toBe(false)
  const { text, isFailure, unlisted } = reportChanges([area([...killed(8), SURVIVED])], [])
  expect(text).toMatch(/88\.9 % killed/)
  expect(isFailure).toBe(true)
  expect(unlisted).toEqual([SURVIVED])
  expect(reportChanges([area([...killed(1), SURVIVED])], [listed('a > b')]).isFailure).toBe(false)
  expect(reportChanges([], []).isFailure).toBe(false)
})
