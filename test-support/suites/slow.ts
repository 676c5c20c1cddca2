import type { Engine } from '../engine.ts'
import {
  ANY_ENGINE,
  ENGINE_TESTS,
  engineProject,
  hasDocker,
  MAIL_ON_CONTAINERS,
  project,
  REDIS_TESTS,
  SLOW,
  SLOW_ENGINE_TESTS,
  SOAK,
} from './project.ts'

const ENGINES: Engine[] = hasDocker ? ['postgres', 'mysql'] : ['embedded']
const ON_CONTAINERS = [REDIS_TESTS, ...MAIL_ON_CONTAINERS, 'services/test/*.test.ts']

/** `npm run test:slow`: what takes more than 2 s alone, images, and the engine that `npm test` leaves out. */
export const projects = [
  project('slow', {
    include: [SLOW],
    exclude: [SOAK, SLOW_ENGINE_TESTS, ...(hasDocker ? [] : ON_CONTAINERS)],
    provide: { engine: ANY_ENGINE, combinations: ['MySQL + Redis', 'PostgreSQL only'] },
  }),
  ...ENGINES.map((engine) => engineProject(engine, { include: [SLOW_ENGINE_TESTS], exclude: [SOAK] })),
  engineProject('mariadb', {
    include: hasDocker ? [ENGINE_TESTS, SLOW_ENGINE_TESTS] : [],
    exclude: [SOAK],
  }),
]
