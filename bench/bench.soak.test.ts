import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

it('measures a row beside its hosts, and refuses a row that does not exist', () => {
  const json = join(mkdtempSync(join(tmpdir(), 'latchkey-bench-')), 'bench.json')
  const bench = (...args: string[]) =>
    execFileSync(process.execPath, [join(import.meta.dirname, 'bench.ts'), '--json', json, ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
    })
  const row = 'profile, read'
  bench('--row', row, '--rounds', '1', '--duration', '1')
  const { results } = JSON.parse(readFileSync(json, 'utf8'))
  expect(Object.keys(results)).toEqual([row])
  expect(() => bench('--row', 'profil, read')).toThrow(/profil, read/)
})
