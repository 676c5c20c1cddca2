import {
  configOf,
  engineProject,
  FIRST_ENGINE,
  project,
  SHARED_MODULES,
  SOAK,
  VARIED,
} from './vitest.config.ts'

/**
 * What clusters leave out: while one test holds the lock of a table, its node applies no change of the other nodes. What an
 * outage does there is in `mysql-clusters.soak.test.ts`.
 */
const OF_ONE_SERVER = ['**/outage.engine.test.ts']

/** These kill servers of clusters: they come late, one at a time, since a node that gets no processor counts as dead. */
const FAILOVERS = ['services/test/{mysql-clusters,postgres-failover,redis-failover}.soak.test.ts']
/** Two clusters of three servers and four services: it has the machine to itself. */
const TWO_REGIONS = ['services/test/two-regions.soak.test.ts']

/** What takes longest. CI leaves out the projects whose names begin with `long`; they run before a release. */
const LONG = [
  'bench/**/*.soak.test.ts',
  'scripts/docs/**/*.soak.test.ts',
  'services/auth-api/test/{memory,rotate-key}.soak.test.ts',
  'services/scriptify/test/packages/**/*.soak.test.ts',
  'services/test/{backup,come-from-php,compose-secrets,faults,image-layers,one-host}.soak.test.ts',
  'services/test/{production,prometheus,rolling-update,rotate-secret,tls}.soak.test.ts',
]
/** The long suites, run by `npm run test:soak`: init systems, images, kills, outages, rolling updates, backups. */
const projects = [
  soakProject('soak', {
    include: [SOAK, ...VARIED],
    exclude: [...FAILOVERS, ...TWO_REGIONS, ...LONG],
  }),
  // `npm test` has one seed; these have another one each time.
  project('properties', { ...SHARED_MODULES, include: ['**/*.property.test.ts'] }),
  // What `npm test` leaves out of the engines.
  engineProject('pgbouncer'),
  // One cluster after the other: six servers of them leave too little processor to each.
  engineProject('galera', { exclude: OF_ONE_SERVER, sequence: { groupOrder: 1 } }),
  engineProject('group-replication', { exclude: OF_ONE_SERVER, sequence: { groupOrder: 2 } }),
  soakProject('failovers', { include: FAILOVERS, maxWorkers: 1, sequence: { groupOrder: 3 } }),
  soakProject('long', { include: LONG, sequence: { groupOrder: 4 } }),
  soakProject('long-two-regions', { include: TWO_REGIONS, sequence: { groupOrder: 5 } }),
]

const seed = Date.now() % 1_000_000_000
process.stderr.write(`Random tests repeat by TEST_SEED=${process.env.TEST_SEED ?? seed}\n`)

export default configOf(projects, seed)

function soakProject(...[name, test]: Parameters<typeof project>): ReturnType<typeof project> {
  return project(name, {
    // What `npm test` leaves out of the suites that it runs as well.
    provide: { engine: FIRST_ENGINE, combinations: ['PostgreSQL + Valkey'] },
    testTimeout: 600_000,
    ...test,
  })
}
