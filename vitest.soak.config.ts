import { configOf, engineProject, FIRST_ENGINE, project, SOAK, VARIED } from './vitest.config.ts'

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
  engineProject('galera'),
  engineProject('group-replication'),
])
