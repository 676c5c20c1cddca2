import { configOf, engineProject, FIRST_ENGINE, project, SOAK, VARIED } from './vitest.config.ts'

/**
 * What clusters leave out: while one test holds the lock of a table, its node applies no change of the other nodes. What an
 * outage does there is in `mysql-clusters.soak.test.ts`.
 */
const OF_ONE_SERVER = ['**/outage.engine.test.ts']

/** These kill servers of clusters: they come last, two at a time, since a node that gets no processor counts as dead. */
const FAILOVERS = ['services/test/{two-regions,mysql-clusters,postgres-failover,redis-failover}.soak.test.ts']

/** The long suites, run by `npm run test:soak`: init systems, images, kills, outages, rolling updates, backups. */
const projects = [
  project('soak', {
    include: [SOAK, ...VARIED],
    exclude: FAILOVERS,
    // What `npm test` leaves out of these suites.
    provide: { engine: FIRST_ENGINE, combinations: ['PostgreSQL + Valkey'] },
    testTimeout: 600_000,
  }),
  // What `npm test` leaves out of the engines.
  engineProject('serializable'),
  engineProject('pgbouncer'),
  // One cluster after the other: six servers of them leave too little processor to each.
  engineProject('galera', { exclude: OF_ONE_SERVER, sequence: { groupOrder: 1 } }),
  engineProject('group-replication', { exclude: OF_ONE_SERVER, sequence: { groupOrder: 2 } }),
  project('failovers', {
    include: FAILOVERS,
    testTimeout: 600_000,
    maxWorkers: 2,
    sequence: { groupOrder: 3 },
  }),
]

export default configOf(projects)
