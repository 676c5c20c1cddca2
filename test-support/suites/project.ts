import { execFileSync } from 'node:child_process'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import type { Engine } from '../engine.ts'

type ProjectTest = NonNullable<TestProjectInlineConfiguration['test']>

export const hasDocker = dockerAnswers()
/** Tests that depend on no engine run on the one that starts within half a second. */
export const ANY_ENGINE: Engine = 'embedded'

/** Runs in `npm run test:slow`. */
export const SLOW = '**/*.slow.test.ts'
/** Runs in `npm run test:soak`. */
export const SOAK = '**/*.soak.test.ts'
/** The folders of tests that run against a database: of auth-api, of the admin classes, and of each extension. */
export const DATABASE_TESTS = '{admin/test,services/auth-api/test,extensions/*}/**'
export const ENGINE_TESTS = `${DATABASE_TESTS}/*.engine.test.ts`
export const SLOW_ENGINE_TESTS = `${DATABASE_TESTS}/*.engine.slow.test.ts`
/** On Redis in containers. */
export const REDIS_TESTS = 'services/auth-api/test/redis/**/*.test.ts'
/** Both services as processes, without their images. */
export const MAIL_FLOWS = ['services/test/{reset-flow,tracing}.slow.test.ts']
/** These stop a database or Redis, which they have to themselves. */
export const MAIL_ON_CONTAINERS = ['services/mailer-worker/test/mailer*.test.ts', ...MAIL_FLOWS]

/** Files that keep no state in a module: each loads the modules that the one before it in its worker has loaded. */
export const SHARED_MODULES = { isolate: false } satisfies ProjectTest

/** These run before each file. */
export const SET_UPS = ['test-support/guard/guard-file.ts', 'test-support/seed-properties.ts']

export function project(name: string, test: ProjectTest): TestProjectInlineConfiguration {
  const exclude = ['**/node_modules/**', ...(test.exclude ?? [SLOW, SOAK])]
  return {
    test: {
      name,
      setupFiles: SET_UPS,
      // The time that something may take to come true on a busy machine; Vitest's own second is over before a process has started.
      expect: { poll: { timeout: 120_000 } },
      testTimeout: 300_000,
      // A hook may wait for an image that is built for the first time.
      hookTimeout: 600_000,
      ...test,
      provide: { hasDocker, ...test.provide },
      exclude,
    },
  }
}

/** The suites of databases on one engine. */
export function engineProject(engine: Engine, test: ProjectTest = {}): TestProjectInlineConfiguration {
  return project(engine, {
    ...SHARED_MODULES,
    include: [ENGINE_TESTS],
    ...test,
    provide: { engine },
  })
}

function dockerAnswers(): boolean {
  try {
    execFileSync('docker', ['version', '--format', '{{.Server.Version}}'], { stdio: 'pipe' })
    return true
  } catch (cause) {
    if (process.env.REQUIRE_DOCKER === '1')
      throw new Error('REQUIRE_DOCKER=1, but no Docker engine answers', { cause })
    process.stderr.write(
      'No Docker engine answers: the suites that need containers are skipped. REQUIRE_DOCKER=1 makes that a failure.\n',
    )
    return false
  }
}
