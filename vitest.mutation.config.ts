import { join } from 'node:path'
import { defineConfig } from 'vitest/config'

/**
 * The tests that Stryker runs against mutants of security code, thousands of times: unit tests, and those over HTTP that need
 * only the embedded PostgreSQL.
 */
export default defineConfig({
  test: {
    include: [
      'services/auth-api/src/{audit,features,limits,one-time-codes,plugins,tokens}/**/*.test.ts',
      'services/auth-api/test/{audit,login,notices,password-reset,profile,rate-limit,token-keys,tokens}.test.ts',
      'services/auth-api/test/{log-out,password-reset,refresh}.engine.test.ts',
      'services/auth-api/test/second-factor{.engine,-limits}.test.ts',
      'shared/{mail-outbox,passwords}/*.test.ts',
    ],
    // The link in node_modules leads to the original, which has no mutants.
    alias: { '@latchkey/shared': join(import.meta.dirname, 'shared') },
    globalSetup: ['services/test/servers/shared-servers.ts'],
    provide: { engine: 'embedded', hasDocker: false },
    testTimeout: 10_000,
    hookTimeout: 60_000,
  },
})
