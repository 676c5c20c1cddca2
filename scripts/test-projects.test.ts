import { globSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { expect, it } from 'vitest'
import { LAUNCHER } from '../vitest.config.ts'

const ROOT = join(import.meta.dirname, '..')

it('replaces no module in a file that shares its modules with others', () => {
  const files = globSync('{admin,bench,extensions,k8s,scripts,services,shared}/**/*.test.ts', { cwd: ROOT })
  const replacing = files.filter(
    (file) =>
      !file.includes('node_modules') && /\bvi\.(mock|doMock)\(/.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  expect(replacing.filter((file) => !LAUNCHER.some((glob) => matchesGlob(file, glob)))).toEqual([])
})
