import { defineConfig } from 'vitest/config'

/** The database engines that run the integration suite, each with identical assertions. */
const ENGINES = ['postgres', 'mysql', 'mariadb', 'embedded'] as const

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{shared,scripts}/**/*.test.ts', 'services/*/src/**/*.test.ts'],
        },
      },
      ...ENGINES.map((engine) => ({
        test: {
          name: engine,
          include: ['services/auth-api/test/**/*.test.ts'],
          globalSetup: [`services/auth-api/test/engines/${engine}.ts`],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      })),
      {
        test: {
          name: 'mailer',
          include: ['services/mailer-worker/test/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'scriptify',
          include: ['services/scriptify/test/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
})
