import type { Engine } from '../engine.ts'
import {
  ANY_ENGINE,
  DATABASE_TESTS,
  ENGINE_TESTS,
  engineProject,
  hasDocker,
  project,
  REDIS_TESTS,
  SHARED_MODULES,
  SLOW,
  SOAK,
} from './project.ts'

/** The databases that run `*.engine.test.ts`; the others do in `npm run test:slow`. */
const ENGINES: Engine[] = hasDocker ? ['postgres', 'mysql'] : ['embedded']
/** Each of their tests starts servers from nothing. */
const LAUNCHER = 'scripts/local/**/*.test.ts'
const BROWSER = [
  'services/auth-api/test/{account-pages,docs-page,mail-links-browser,passkeys-browser,session-browser,todo-browser}.test.ts',
  'packages/client/test/*-browser.test.ts',
]
/** Tests that `fast` would run otherwise: these start programs, or calculate for seconds. */
export const PROCESSES = [
  'admin/test/admin.test.ts',
  'deploy/{build-images,monitoring/monitoring}.test.ts',
  'scripts/release/commands.test.ts',
  'services/auth-api/test/{model/model,process}.test.ts',
  'services/scriptify/src/cli/compile-cache.test.ts',
  'services/scriptify/src/cli/completion.test.ts',
  'services/scriptify/src/terminal/{front/history,node/interrupt-thread}.test.ts',
  'services/scriptify/src/services/{replace-files,env-file.property,systems/grammar.property}.test.ts',
  'shared/lifecycle/run-service.test.ts',
  'shared/passwords/schemes.test.ts',
]

/** `npm test`: the projects that wait longest come first, and the others fill the gaps. */
export const projects = [
  project('launcher', { include: [LAUNCHER] }),
  project('scriptify', { ...SHARED_MODULES, include: ['services/scriptify/test/**/*.test.ts'] }),
  project('mailer', { include: ['services/mailer-worker/test/**/*.test.ts'] }),
  project('browser', { ...SHARED_MODULES, include: BROWSER, provide: { engine: ANY_ENGINE } }),
  ...ENGINES.map((engine) => engineProject(engine)),
  project('redis', {
    ...SHARED_MODULES,
    include: hasDocker ? [REDIS_TESTS] : [],
    provide: { engine: ANY_ENGINE },
  }),
  project('process', {
    ...SHARED_MODULES,
    include: [...PROCESSES, 'services/test/*.test.ts'],
    exclude: [SLOW, SOAK, ...(hasDocker ? [] : ['services/test/compose-files.test.ts'])],
    provide: { engine: ANY_ENGINE },
  }),
  // The tests for a change of a function: functions, and requests through auth-api within the test's own process.
  project('fast', {
    ...SHARED_MODULES,
    include: [
      `{deploy,packages,shared,scripts,test-support}/**/*.test.ts`,
      'services/*/src/**/*.test.ts',
      'admin/**/*.test.ts',
      `${DATABASE_TESTS}/*.test.ts`,
    ],
    exclude: [SLOW, SOAK, ENGINE_TESTS, REDIS_TESTS, LAUNCHER, ...BROWSER, ...PROCESSES],
    provide: { engine: ANY_ENGINE },
  }),
]
