import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const run = (file: string, ...args: string[]) =>
  execFileSync(process.execPath, [join(import.meta.dirname, file), ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
  })

it('measures a row beside its hosts, and refuses a row that does not exist', () => {
  const json = join(mkdtempSync(join(tmpdir(), 'latchkey-bench-')), 'bench.json')
  run('bench.ts', '--json', json, '--row', 'profile, read', '--rounds', '1', '--duration', '1')
  const { results } = JSON.parse(readFileSync(json, 'utf8'))
  expect(Object.keys(results)).toEqual(['profile, read'])
  expect(() => run('bench.ts', '--json', json, '--row', 'profil, read')).toThrow(/profil, read/)
})

it('compares every route and state', () => {
  const comparisons = run('timing.ts', '--pairs', '10', '--load', 'idle').trim().split('\n')
  expect(comparisons.filter((line) => line.includes('deviations from chance')).length).toBeGreaterThan(20)
})
