import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** Where a process that keeps what it compiles, and a thread of it, keep it. */
function directoriesOf(environment: Record<string, string>): string[] {
  const script = `
    import { getCompileCacheDir } from 'node:module'
    import { Worker } from 'node:worker_threads'
    import { keepCompiled } from ${JSON.stringify(join(import.meta.dirname, 'keep-compiled.ts'))}
    keepCompiled()
    console.log(getCompileCacheDir())
    new Worker("import('node:module').then((module) => console.log(module.getCompileCacheDir()))", { eval: true })`
  const { NODE_COMPILE_CACHE: _, ...rest } = process.env
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    env: { ...rest, ...environment },
    encoding: 'utf8',
  })
  return output.trim().split('\n')
}

it('keeps what was compiled in the checkout, not where other users can write', () => {
  const directory = join(import.meta.dirname, '../../node_modules/.cache/node')
  for (const used of directoriesOf({})) expect(used.startsWith(directory)).toBe(true)
})

it('keeps it where NODE_COMPILE_CACHE says', () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'latchkey-compiled-')))
  for (const used of directoriesOf({ NODE_COMPILE_CACHE: directory }))
    expect(used.startsWith(directory)).toBe(true)
})
