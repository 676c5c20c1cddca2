import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '..')

it('names the tests that passed on the second try only', async () => {
  const folder = await mkdtemp(join(ROOT, 'node_modules', '.retried-'))
  try {
    await writeFile(
      join(folder, 'vitest.config.ts'),
      `import { reportRetried } from '../../services/test/support/report-retried.ts'
       export default { test: { name: 'processes', retry: 1, exclude: [], include: ['*.test.ts'], reporters: [reportRetried] } }`,
    )
    await writeFile(
      join(folder, 'races.test.ts'),
      `import { expect, it } from 'vitest'
       let tries = 0
       it('wins the race', () => expect((tries += 1), 'the prompt came late').toBe(2))
       it('is never late', () => {})`,
    )
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
    const { stdout } = await promisify(execFile)(process.execPath, [vitest, 'run'], { cwd: folder })
    expect(stdout).toBe(`
1 test(s) passed on the second try only:
  processes races.test.ts > wins the race
    the prompt came late: expected 1 to be 2 // Object.is equality

`)
  } finally {
    await rm(folder, { recursive: true })
  }
})
