import { configOf, engineProject, FIRST_ENGINE, project, SOAK, VARIED } from './vitest.config.ts'

/**
 * What clusters leave out: while one test holds the lock of a table, its node applies no change of the other nodes. What an
 * outage does there is in `mysql-clusters.soak.test.ts`.
 */
const OF_ONE_SERVER = ['**/outage.engine.test.ts']

/** The long suites, run by `npm run test:soak`: kills, outages, rolling updates, backups. */
export default configOf([
  project('soak', {
    include: [SOAK, ...VARIED],
    // What `npm test` leaves out of these suites.
    provide: {
      engine: FIRST_ENGINE,
      combinations: ['PostgreSQL + Valkey'],
      composeProfiles: ['mysql'],
      systemdMachines: ['node'],
    },
    testTimeout: 600_000,
  }),
  // What `npm test` leaves out of the engines.
  engineProject('serializable'),
  engineProject('pgbouncer'),
  engineProject('galera', OF_ONE_SERVER),
  engineProject('group-replication', OF_ONE_SERVER),
])
