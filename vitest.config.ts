import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import type { Engine } from './services/test/support/engine.ts'
import { reportRetried } from './services/test/support/report-retried.ts'

const hasDocker = dockerAnswers()
/** The databases that run `*.engine.test.ts`. With Docker the postgres container runs what embedded PostgreSQL would. */
const ENGINES: Engine[] = hasDocker ? ['postgres', 'mysql', 'mariadb'] : ['embedded']
export const [FIRST_ENGINE = 'embedded'] = ENGINES
/** What depends on no engine runs on the one that starts within half a second. */
const ANY_ENGINE: Engine = 'embedded'
type ProjectTest = NonNullable<TestProjectInlineConfiguration['test']>
export const SOAK = '**/*.soak.test.ts'
/** Where tests run against a database: of auth-api, of the admin classes, and of each extension. */
const DATABASE_TESTS = '{admin/test,services/auth-api/test,extensions/*}/**'
const ENGINE_TESTS = `${DATABASE_TESTS}/*.engine.test.ts`
/** Both services as processes, without their images. */
const MAIL_FLOWS = ['services/test/reset-flow.test.ts', 'services/test/tracing.test.ts']
/** These stop a database or Redis, which they have to themselves. */
const MAIL_ON_CONTAINERS = ['services/mailer-worker/test/mailer.test.ts', ...MAIL_FLOWS]
/** The soak runs these as well, on what `npm test` leaves out. */
export const VARIED = ['services/mailer-worker/test/mailer*.test.ts', ...MAIL_FLOWS]
const LAUNCHER = ['scripts/local/**/*.test.ts']
/** These run after all others: a container that starts or stops is a change of network, at which Chromium ends its requests. */
const BROWSER = ['services/auth-api/test/{account-pages,docs-page,passkeys-browser,session-browser}.test.ts']
/** Files that keep no state in a module: each loads the modules that the one before it in its worker has loaded. */
export const SHARED_MODULES = {
  isolate: false,
  setupFiles: ['services/test/support/seed-properties.ts'],
}
/** CI repeats a test of processes once when it fails, and names it if it then passes: one race of 3,000 refuses no change. */
const RETRIES = process.env.RETRY_PROCESS_TESTS === '1' ? 1 : 0
// The suites start the services and scriptify a thousand times: each compiles only what has changed since.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules', '.cache', 'node')

/** The projects; those that wait longest come first, and the others fill the gaps. */
const projects: TestProjectInlineConfiguration[] = [
  // Each of their tests starts servers from nothing.
  project('launcher', { include: LAUNCHER, exclude: [SOAK] }),
  project('scriptify', {
    ...SHARED_MODULES,
    include: ['services/scriptify/test/**/*.test.ts'],
    exclude: [SOAK],
  }),
  project('mailer', {
    include: ['services/mailer-worker/test/**/*.test.ts', ...MAIL_FLOWS],
    exclude: [SOAK, ...(hasDocker ? [] : MAIL_ON_CONTAINERS)],
    // Each database and each queue once; the soak runs the third combination.
    provide: { combinations: ['MySQL + Redis', 'PostgreSQL only'] },
  }),
  project('ops', {
    include: hasDocker ? ['services/test/*.test.ts'] : [],
    exclude: [...MAIL_FLOWS, SOAK],
  }),
  project('api', {
    ...SHARED_MODULES,
    include: [`${DATABASE_TESTS}/*.test.ts`],
    // Where no other engine runs, these are in one project: its workers have loaded the modules.
    exclude: ['services/auth-api/test/redis/**', ...(hasDocker ? [ENGINE_TESTS] : []), ...BROWSER, SOAK],
    provide: { engine: ANY_ENGINE },
  }),
  project('browser', {
    ...SHARED_MODULES,
    include: BROWSER,
    provide: { engine: ANY_ENGINE },
    sequence: { groupOrder: 1 },
  }),
  ...ENGINES.filter((engine) => engine !== ANY_ENGINE).map((engine) => engineProject(engine)),
  project('redis', {
    ...SHARED_MODULES,
    include: hasDocker ? ['services/auth-api/test/redis/**/*.test.ts'] : [],
    provide: { engine: ANY_ENGINE },
  }),
  project('unit', {
    ...SHARED_MODULES,
    include: [
      '{admin,bench,k8s,monitoring,shared,scripts}/**/*.test.ts',
      'services/{*/src,test/support}/**/*.test.ts',
    ],
    exclude: ['admin/test/**', ...LAUNCHER, SOAK],
  }),
]

export default configOf(projects)

/**
 * The seed makes the cases of random tests; TEST_SEED is another one. One file more than there are
 * processors runs, since some of a run waits; with five at once, requests waited too long for a connection.
 */
export function configOf(
  projects: TestProjectInlineConfiguration[],
  seed = 1,
): ReturnType<typeof defineConfig> {
  const env = { TEST_SEED: process.env.TEST_SEED ?? String(seed) }
  return defineConfig({
    test: {
      maxWorkers: 3,
      globalSetup: ['services/test/servers/shared-servers.ts'],
      sequence: { sequencer: inProjectOrder(projects.map(({ test }) => String(test?.name))) },
      reporters: ['default', reportRetried],
      projects: projects.map(({ test }) => ({
        test: { ...test, env, retry: test?.name === 'unit' ? 0 : RETRIES },
      })),
    },
  })
}

export function engineProject(engine: Engine, test: ProjectTest = {}): TestProjectInlineConfiguration {
  return project(engine, {
    ...SHARED_MODULES,
    ...test,
    include: hasDocker ? [ENGINE_TESTS] : [],
    exclude: [SOAK, ...(test.exclude ?? [])],
    provide: { engine },
  })
}

export function project(name: string, test: ProjectTest): TestProjectInlineConfiguration {
  const exclude = ['**/node_modules/**', ...(test.exclude ?? [])]
  return {
    test: {
      name,
      // How long something may take to come true on a busy machine; Vitest's own second is over before a process has started.
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

/**
 * Vitest sorts projects by name; the longest would then come last, with nothing beside them. Under `--changed` the unit
 * tests come first: they give the first results within seconds.
 */
function inProjectOrder(names: string[]): typeof BaseSequencer {
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      const sorted = await super.sort(files)
      const order = this.ctx.config.changed ? ['unit', ...names] : names
      return sorted.toSorted((a, b) => order.indexOf(a.project.name) - order.indexOf(b.project.name))
    }
  }
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
