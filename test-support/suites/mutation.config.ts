import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Nearly every mutant is killed by a unit test. Those over HTTP, which are slow, run for what is left. */
class UnitTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isOverHttp = ({ moduleId }: TestSpecification) => moduleId.includes('/auth-api/test/')
    return files.toSorted((a, b) => Number(isOverHttp(a)) - Number(isOverHttp(b)))
  }
}

/**
 * The tests that Stryker runs against mutants of security code, thousands of times: unit tests, and those over HTTP that need
 * only the embedded PostgreSQL.
 */
export default defineConfig({
  test: {
    include: [
      'services/auth-api/src/{audit,http,limits,tokens}/*.test.ts',
      'services/auth-api/src/features/**/*.test.ts',
      'services/auth-api/test/{audit,decoys,login,password-reset,rate-limit,refresh,token-keys,tokens}.test.ts',
      'services/auth-api/test/second-factor{,-limits}.test.ts',
      'shared/{mail/outbox,passwords}/*.test.ts',
    ],
    sequence: { sequencer: UnitTestsFirst },
    // The link in node_modules leads to the original, which has no mutants.
    alias: { '@latchkey/shared': join(import.meta.dirname, '../../shared') },
    globalSetup: ['test-support/servers/shared-servers.ts'],
    provide: { engine: 'embedded', hasDocker: false },
    // On a busy machine a shorter one would count as a killed mutant.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
