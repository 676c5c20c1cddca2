import { join } from 'node:path'
import { getContainerRuntimeClient } from 'testcontainers'
import { defineConfig } from 'vitest/config'

/** The databases that run the integration suite, each with identical assertions. */
const CONTAINER_ENGINES = ['postgres', 'mysql', 'mariadb']
/** Both services as processes, without their images. */
const MAIL_FLOWS = ['services/test/reset-flow.test.ts', 'services/test/tracing.test.ts']
/** How long something may take to come true on a busy machine; Vitest's own second is over before a process has started. */
const patience = { poll: { timeout: 30_000 } }
const hasDocker = await dockerAnswers()
// The suites start the services and scriptify a thousand times: each compiles no more than has changed since.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules', '.cache', 'node')

export default defineConfig({
  test: {
    // Two servers and their databases fit on a small machine; what is measured needs quiet.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{admin,shared,scripts}/**/*.test.ts', 'services/*/src/**/*.test.ts'],
          // They run once a database, below.
          exclude: ['admin/test/**'],
          expect: patience,
          testTimeout: 180_000,
          hookTimeout: 120_000,
        },
      },
      ...['embedded', ...(hasDocker ? CONTAINER_ENGINES : [])].map((engine) => ({
        test: {
          name: engine,
          include: ['services/auth-api/test/**/*.test.ts', 'admin/test/**/*.test.ts'],
          exclude: ['services/auth-api/test/redis/**'],
          globalSetup: [`services/auth-api/test/engines/${engine}.ts`],
          expect: patience,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      })),
      {
        test: {
          name: 'redis',
          include: hasDocker ? ['services/auth-api/test/redis/**/*.test.ts'] : [],
          globalSetup: ['services/auth-api/test/engines/embedded.ts'],
          expect: patience,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'ops',
          // Manifests need kubectl; the compose files a Docker engine.
          include: [
            'k8s/**/*.test.ts',
            ...(hasDocker ? ['services/*.test.ts', 'services/test/*.test.ts'] : []),
          ],
          exclude: MAIL_FLOWS,
          globalSetup: hasDocker ? ['services/test/support/images.ts'] : [],
          expect: patience,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'scriptify',
          include: ['services/scriptify/test/**/*.test.ts'],
          expect: patience,
          testTimeout: 180_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'mailer',
          include: ['services/mailer-worker/test/**/*.test.ts', ...MAIL_FLOWS],
          expect: patience,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
})

async function dockerAnswers(): Promise<boolean> {
  try {
    await getContainerRuntimeClient()
    return true
  } catch (error) {
    if (process.env.REQUIRE_DOCKER === '1') throw error
    process.stderr.write(
      `No Docker engine answers: the suites for ${CONTAINER_ENGINES.join(', ')} are skipped. REQUIRE_DOCKER=1 makes that a failure.\n`,
    )
    return false
  }
}
