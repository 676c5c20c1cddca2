import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

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

describe('a Latchkey elsewhere', () => {
  const secrets = { JWT_SECRET: 'x', MAIL_SECRET: 'x', API_SERVER: 'http://x' }
  const nowhere = {
    BENCH_URL: 'http://127.0.0.1:9',
    DATABASE_URL: 'postgres://127.0.0.1:9/latchkey',
    ...secrets,
  }

  it.each([
    {
      why: 'its secrets are missing',
      args: [],
      env: { BENCH_URL: nowhere.BENCH_URL },
      says: /needs DATABASE_URL, JWT/,
    },
    {
      why: 'the row needs its process',
      args: ['--row', 'mail'],
      env: nowhere,
      says: /The rows with BENCH_URL are/,
    },
    {
      why: 'it does not answer',
      args: [],
      env: nowhere,
      says: /names no Latchkey that answers GET http.*: ./,
    },
  ])('is refused where $why', ({ args, env, says }) => {
    const { status, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'bench.ts'), ...args], {
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...env },
    })
    expect(stderr).toMatch(says)
    expect(status).toBeGreaterThanOrEqual(64)
  })
})
