import { hash } from 'node:crypto'
import { join } from 'node:path'
import { ProgressReporter } from '@latchkey/test-support/suites/progress-reporter.ts'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The projects of a command, by the name that Vitest's option `--mode` gives it; `test` is Vitest's own. */
const SUITES: Record<string, () => Promise<{ projects: TestProjectInlineConfiguration[] }>> = {
  test: () => import('@latchkey/test-support/suites/test.ts'),
  slow: () => import('@latchkey/test-support/suites/slow.ts'),
  soak: () => import('@latchkey/test-support/suites/soak.ts'),
  engine: () => import('@latchkey/test-support/suites/engine.ts'),
}

// The suites start the services and scriptify a thousand times: each compiles only what has changed since.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules', '.cache', 'node')

// Node would ask the proxy of the environment for what the tests start on this machine.
delete process.env.NODE_USE_ENV_PROXY

export default defineConfig(async ({ mode }) => {
  const suite = SUITES[mode]
  if (!suite) throw new Error(`--mode ${mode} is unknown; known are ${Object.keys(SUITES).join(', ')}`)
  const { projects } = await suite()
  // The seed makes the cases of random tests.
  const env = { TEST_SEED: process.env.TEST_SEED ?? seedOf(mode) }
  return {
    test: {
      // One file more than there are processors, since some of a run waits; with five, requests waited too long for a connection.
      maxWorkers: 3,
      globalSetup: ['test-support/servers/shared-servers.ts'],
      reporters: [new ProgressReporter(), ...(process.env.GITHUB_ACTIONS ? ['github-actions' as const] : [])],
      sequence: { sequencer: inProjectOrder(projects.map(({ test }) => String(test?.name))) },
      projects: projects.map(({ test }) => ({ test: { ...test, env } })),
    },
  }
})

/** One seed, so that no change fails by chance; the soak has another one each time. */
function seedOf(mode: string): string {
  if (mode !== 'soak') return '1'
  const seed = String(Date.now() % 1_000_000_000)
  process.stderr.write(`Random tests repeat by TEST_SEED=${seed}\n`)
  return seed
}

/**
 * Vitest sorts projects by name; the longest would then come last, with nothing beside them. Under `--changed` the fast
 * tests come first: they give the first results within seconds. `--sequence.shuffle` shuffles the files too, by `--sequence.seed`.
 */
function inProjectOrder(names: string[]): typeof BaseSequencer {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const { changed, sequence } = this.ctx.config
      if (sequence.shuffle) {
        const random = ({ project, moduleId }: TestSpecification) =>
          hash('sha256', `${sequence.seed} ${project.name} ${moduleId}`)
        return files.toSorted((a, b) => (random(a) < random(b) ? -1 : 1))
      }
      const sorted = await super.sort(files)
      const order = changed ? ['fast', ...names] : names
      return sorted.toSorted((a, b) => order.indexOf(a.project.name) - order.indexOf(b.project.name))
    }
  }
}
