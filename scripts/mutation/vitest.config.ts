import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { project } from '../../vitest.config.ts'
import { areaOfEnvironment, usesServers } from './areas.ts'

const area = areaOfEnvironment()
const ROOT = join(import.meta.dirname, '../..')

/** The tests of one area, for Stryker, which runs them in a copy of the project. */
export default defineConfig({
  test: {
    root: ROOT,
    globalSetup: [join(import.meta.dirname, 'provide-servers.ts')],
    projects: [
      project('mutation', {
        include: area.tests,
        provide: { engine: 'embedded' },
        // The link in node_modules leads to the original, which has no mutants.
        alias: { '@latchkey/shared': join(ROOT, 'shared') },
        // A mutant by which nothing ever comes true is killed by an assertion, not by the limit of Stryker.
        expect: { poll: { timeout: 10_000 } },
        // A mutant by which a promise stays pending takes as long as this.
        testTimeout: usesServers(area) ? 20_000 : 10_000,
      }),
    ],
  },
})
