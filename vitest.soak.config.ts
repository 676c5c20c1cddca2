import { ANY_ENGINE, configOf, MAIL_FLOWS, project, SOAK } from './vitest.config.ts'

/** The long suites, run by `npm run test:soak`: kills, outages, rolling updates, backups. */
export default configOf([
  project('soak', {
    include: [SOAK, 'services/mailer-worker/test/mailer*.test.ts', ...MAIL_FLOWS],
    // The combination that `npm test` leaves out; a suite of the soak alone runs on each.
    provide: { engine: ANY_ENGINE, combinations: ['PostgreSQL + Redis'] },
    testTimeout: 600_000,
  }),
])
