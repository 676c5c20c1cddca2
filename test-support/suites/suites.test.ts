import { globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { CHECKED_FILES } from '../../scripts/engine/areas.ts'
import mutation from './mutation.config.ts'
import { FAILOVERS, LONG, TWO_REGIONS } from './soak.ts'
import { PROCESSES } from './test.ts'

const ROOT = join(import.meta.dirname, '../..')

/** `a{b,c}` as `ab` and `ac`. */
function expandBraces(pattern: string): string[] {
  const [braces, words] = /\{([^{}]*)\}/.exec(pattern) ?? []
  if (braces === undefined || words === undefined) return [pattern]
  return words.split(',').flatMap((word) => expandBraces(pattern.replace(braces, () => word)))
}

it.each([
  ['that start processes', PROCESSES],
  ['that run against mutants', mutation.test?.include ?? []],
  ['that check a database', CHECKED_FILES],
  ['that take longest', [...FAILOVERS, ...TWO_REGIONS, ...LONG]],
])('the list of tests %s names files that exist', (_, patterns) => {
  const missing = patterns.flatMap(expandBraces).filter((path) => globSync(path, { cwd: ROOT }).length === 0)
  expect(missing).toEqual([])
})
