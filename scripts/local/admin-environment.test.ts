import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { writeAdminEnvironment } from './admin-environment.ts'

const { pid: DEAD } = spawnSync('true')
const OWN = `environment-${process.pid}`

it.each([
  { of: 'another start that runs', writer: process.ppid, kept: ['environment'], file: OWN },
  { of: 'a start that was killed', writer: DEAD, kept: [], file: 'environment' },
  { of: 'an earlier start with the same pid', writer: process.pid, kept: [], file: 'environment' },
])('leaves the file of $of, or takes its place', async ({ writer, kept, file }) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'admin-environment-'))
  const before = `# Written by process ${writer}\nexport APP_ENV='before'\n`
  for (const name of ['environment', `environment-${DEAD}`])
    writeFileSync(join(folder.path, name), before, { mode: 0o644 })
  const { path, remove } = writeAdminEnvironment(folder.path, { APP_ENV: 'dev', MAIL_URL: "smtp://a'b" })
  expect(path).toBe(join(folder.path, file))
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const { stdout } = spawnSync('sh', ['-c', '. "$0"; echo "$APP_ENV $MAIL_URL"', path], { encoding: 'utf8' })
  expect(stdout).toBe("dev smtp://a'b\n")
  expect(readdirSync(folder.path)).toEqual([...new Set([...kept, file])].toSorted())
  remove()
  expect(readdirSync(folder.path)).toEqual(kept)
  for (const name of kept) expect(readFileSync(join(folder.path, name), 'utf8')).toBe(before)
})
