import {
  ANY_ENGINE,
  ENGINE_TESTS,
  engineProject,
  hasDocker,
  MAIL_ON_CONTAINERS,
  project,
  SHARED_MODULES,
  SLOW_ENGINE_TESTS,
  SOAK,
} from './project.ts'

/**
 * Tests that clusters leave out: while one test holds the lock of a table, its node applies no change of the other nodes. What an
 * outage does there is in `mysql-clusters.soak.test.ts`.
 */
const OF_ONE_SERVER = ['**/outage.engine{,.slow}.test.ts']

/** These kill servers of clusters: they come late, one at a time, since a node that gets no processor counts as dead. */
export const FAILOVERS = ['services/test/{mysql-clusters,postgres-failover,redis-failover}.soak.test.ts']
/** Two clusters of three servers and four services: it has the machine to itself. */
export const TWO_REGIONS = ['services/test/two-regions.soak.test.ts']

/** The longest tests. CI leaves out the projects whose names begin with `long`; they run before a release. */
export const LONG = [
  'scripts/{bench,docs}/**/*.soak.test.ts',
  'services/auth-api/test/{memory,rotate-key}.soak.test.ts',
  'services/scriptify/test/packages/**/*.soak.test.ts',
  'services/test/{backup,come-from-php,compose-secrets,faults,image-layers,one-host}.soak.test.ts',
  'services/test/{production,prometheus,rolling-update,rotate-secret,tls}.soak.test.ts',
]
/** `npm run test:soak`: init systems, images, kills, outages, rolling updates, backups. */
export const projects = [
  soakProject('soak', {
    include: [SOAK, ...MAIL_ON_CONTAINERS],
    exclude: [...FAILOVERS, ...TWO_REGIONS, ...LONG],
  }),
  // `npm test` has one seed; these have another one each time.
  project('properties', { ...SHARED_MODULES, include: ['**/*.property{,.slow}.test.ts'], exclude: [] }),
  // The engines that the other commands leave out.
  soakEngine('pgbouncer'),
  // One cluster after the other: six servers of them leave too little processor to each.
  soakEngine('galera', { exclude: OF_ONE_SERVER, sequence: { groupOrder: 1 } }),
  soakEngine('group-replication', { exclude: OF_ONE_SERVER, sequence: { groupOrder: 2 } }),
  soakProject('failovers', { include: FAILOVERS, maxWorkers: 1, sequence: { groupOrder: 3 } }),
  soakProject('long', { include: LONG, sequence: { groupOrder: 4 } }),
  soakProject('long-two-regions', { include: TWO_REGIONS, sequence: { groupOrder: 5 } }),
]

function soakProject(...[name, test]: Parameters<typeof project>): ReturnType<typeof project> {
  return project(name, {
    // The parts of common suites that the other commands leave out.
    provide: { engine: hasDocker ? 'postgres' : ANY_ENGINE, combinations: ['PostgreSQL + Valkey'] },
    testTimeout: 600_000,
    exclude: [],
    ...test,
  })
}

function soakEngine(...[engine, test]: Parameters<typeof engineProject>): ReturnType<typeof project> {
  return engineProject(engine, {
    exclude: [],
    ...test,
    include: hasDocker ? [ENGINE_TESTS, SLOW_ENGINE_TESTS] : [],
  })
}
