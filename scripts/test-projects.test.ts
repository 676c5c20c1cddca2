import { globSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { expect, it } from 'vitest'
import { LAUNCHER, MOCKING } from '../vitest.config.ts'

const ROOT = join(import.meta.dirname, '..')

it('runs each file that replaces a module with modules of its own', () => {
  const files = globSync('{admin,bench,extensions,k8s,scripts,services,shared}/**/*.test.ts', { cwd: ROOT })
  const replacing = files.filter(
    (file) =>
      !file.includes('node_modules') && /\bvi\.(mock|doMock)\(/.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  const shared = replacing.filter((file) => !LAUNCHER.some((glob) => matchesGlob(file, glob)))
  expect(shared.toSorted(), 'the list MOCKING of vitest.config.ts').toEqual(MOCKING.toSorted())
})
