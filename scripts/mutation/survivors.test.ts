import { describe, expect, it } from 'vitest'
import { AREAS } from './areas.ts'
import { hunksOf } from './changed-lines.ts'
import { compareSurvivors, readSurvivors, scoreOf, type TestedMutant, type Verdict } from './survivors.ts'

const tested = (replacement: string, verdict: Verdict): TestedMutant => ({
  file: 'a.ts',
  lineNumber: 7,
  line: 'return a >= b',
  original: 'a >= b',
  replacement,
  verdict,
})
const listed = (replacement: string) => ({
  file: 'a.ts',
  line: 'return a >= b',
  original: 'a >= b',
  replacement,
  reason: 'a never equals b',
})

describe('the list of survivors', () => {
  it('lacks a mutant that survives', () => {
    const { unlisted } = compareSurvivors([tested('a > b', 'survived'), tested('a < b', 'killed')], [])
    expect(unlisted.map(({ replacement }) => replacement)).toEqual(['a > b'])
  })

  it('has one that survives', () => {
    expect(compareSurvivors([tested('a > b', 'survived')], [listed('a > b')])).toEqual({
      unlisted: [],
      killed: [],
      gone: [],
    })
  })

  it('has one too many when a test kills it', () => {
    expect(compareSurvivors([tested('a > b', 'killed')], [listed('a > b')]).killed).toEqual([listed('a > b')])
  })

  it('keeps an entry as long as one of several equal mutants survives', () => {
    const mutants = [tested('a > b', 'killed'), tested('a > b', 'survived')]
    expect(compareSurvivors(mutants, [listed('a > b')])).toMatchObject({ unlisted: [], killed: [] })
  })

  it('has one too many when its code has changed', () => {
    expect(compareSurvivors([], [listed('a > b')]).gone).toEqual([listed('a > b')])
  })

  it('says of each why it is harmless', () => {
    for (const { reason, ...mutant } of readSurvivors()) expect(reason, JSON.stringify(mutant)).toMatch(/\w/)
  })
})

it('scores what is killed; a timeout is not', () => {
  const mutants = [tested('a > b', 'killed'), tested('a < b', 'timed out'), tested('a', 'survived')]
  expect(scoreOf(mutants)).toBeCloseTo(33.3, 1)
})

it('reads from a diff which lines are new', () => {
  const diff = '@@ -1,2 +1,3 @@ function a() {\n-x\n+y\n@@ -9 +10 @@\n@@ -20,4 +20,0 @@\n'
  expect(hunksOf('a.ts', diff)).toEqual([
    { file: 'a.ts', first: 1, count: 3 },
    { file: 'a.ts', first: 10, count: 1 },
  ])
})

it('gives each area a name', () => {
  expect(new Set(AREAS.map(({ name }) => name)).size).toBe(AREAS.length)
})
