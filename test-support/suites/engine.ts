import { CHECKED_FILES } from '../../scripts/engine/areas.ts'
import { project } from './project.ts'

/** The suites of databases on the one that `npm run check:engine` names, one file after the other. */
export const projects = [
  project('given', {
    include: CHECKED_FILES,
    fileParallelism: false,
    isolate: false,
    provide: { engine: 'given', givenUrl: process.env.CHECKED_DATABASE_URL ?? '' },
    testTimeout: 60_000,
  }),
]
