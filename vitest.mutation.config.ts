import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/** The tests that Stryker runs against mutants of security code: unit tests only, because it runs them thousands of times. */
export default defineConfig({
  test: {
    include: [
      'services/auth-api/src/{audit,features,limits,one-time-codes,plugins,tokens}/**/*.test.ts',
      'shared/{mail-outbox,passwords}/*.test.ts',
    ],
    // The link in node_modules leads to the original, which has no mutants.
    alias: { '@latchkey/shared': join(import.meta.dirname, 'shared') },
    testTimeout: 10_000,
  },
})
