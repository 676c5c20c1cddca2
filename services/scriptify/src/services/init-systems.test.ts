import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { INIT_SYSTEMS } from './init-systems.ts'

const SRC = join(import.meta.dirname, '..')
const OWN = /^services\/(systems\/|init-systems\.ts$)|\.test\.ts$/
const NAMES = new RegExp(`\\b(${INIT_SYSTEMS.map(({ name }) => name).join('|')})\\b`)

it('names an init system only in its own file', async () => {
  const files = (await readdir(SRC, { recursive: true })).filter(
    (file) => file.endsWith('.ts') && !OWN.test(file),
  )
  expect(files).toContain('services/install/install-service.ts')
  const namings = await Promise.all(files.map(findNamings))
  expect(namings.flat()).toEqual([])
})

/** A comment may explain what the strictest of them does to a text. */
async function findNamings(file: string): Promise<string[]> {
  const lines = (await readFile(join(SRC, file), 'utf8')).split('\n')
  return lines
    .filter((line) => NAMES.test(line) && !/^\s*(\/?\*|\/\/)/.test(line))
    .map((line) => `${file}: ${line.trim()}`)
}
