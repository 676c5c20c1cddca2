import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const COMPILE_CACHE = join(import.meta.dirname, '../../bin/compile-cache.cjs')
const NOBODY = 65534
const isRoot = process.geteuid?.() === 0

/** The folder in which a command that starts in this home keeps compiled code; undefined if it keeps none. */
function folderFor(home: string): string | undefined {
  const script = 'process.stdout.write(require("node:module").getCompileCacheDir() ?? "")'
  const args = ['--require', COMPILE_CACHE, '--eval', script]
  const env = { PATH: process.env.PATH ?? '', HOME: home }
  return execFileSync(process.execPath, args, { env, encoding: 'utf8' }) || undefined
}

const temporaryHome = () => mkdtempDisposable(join(tmpdir(), 'scriptify-home-'))

it('keeps compiled code in a folder that only the user may enter', async () => {
  await using home = await temporaryHome()
  const cache = join(home.path, '.cache/scriptify')
  expect(folderFor(home.path)).toContain(cache)
  expect(statSync(cache).mode & 0o777).toBe(0o700)
})

it('keeps none where everybody may replace the folder', async () => {
  await using home = await temporaryHome()
  mkdirSync(join(home.path, '.cache'))
  chmodSync(join(home.path, '.cache'), 0o777)
  expect(folderFor(home.path)).toBeUndefined()
})

it.runIf(isRoot)('keeps none for root in the home of another user, as under sudo', async () => {
  await using home = await temporaryHome()
  chownSync(home.path, NOBODY, NOBODY)
  expect(folderFor(home.path)).toBeUndefined()
  expect(readdirSync(home.path)).toEqual([])
})

it.runIf(isRoot)('keeps none where another user has linked the folder', async () => {
  await using home = await temporaryHome()
  await using target = await temporaryHome()
  mkdirSync(join(home.path, '.cache'))
  symlinkSync(target.path, join(home.path, '.cache/scriptify'))
  execFileSync('chown', ['--no-dereference', 'nobody', join(home.path, '.cache/scriptify')])
  expect(folderFor(home.path)).toBeUndefined()
})

it("keeps it where the user's own link leads", async () => {
  await using home = await temporaryHome()
  await using target = await temporaryHome()
  symlinkSync(target.path, join(home.path, '.cache'))
  expect(folderFor(home.path)).toContain('scriptify')
  expect(readdirSync(target.path)).toEqual(['scriptify'])
})

it('starts in a home that cannot be written to', () => {
  expect(folderFor('/proc/nothing')).toBeUndefined()
})
