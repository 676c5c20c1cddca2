import { expect, it } from 'vitest'
import { adviseOnPostgres } from './advise-on-postgres.ts'

it.each([
  {
    said: 'FATAL:  could not resize shared memory segment "/PostgreSQL.21" to 1048576 bytes: No space left on device',
    advice: '--shm-size',
  },
  {
    said: 'initdb: could not look up effective user ID 12345: user does not exist',
    advice: '/etc/passwd',
  },
  {
    said: 'FATAL:  could not extend file "base/1/2691": wrote only 4096 of 8192 bytes at block 10\nHINT:  Check free disk space.',
    advice: 'DATA_DIR',
  },
  { said: 'FATAL:  could not write file "pg_wal/xlogtemp.35": No space left on device', advice: 'DATA_DIR' },
])('says what helps in one line: $said', ({ said, advice }) => {
  expect(adviseOnPostgres(said)).toMatch(new RegExp(`^[^\\n]*${advice}[^\\n]*$`))
})

it('knows nothing better than what PostgreSQL says of other faults', () => {
  expect(adviseOnPostgres('FATAL:  could not open file "global/pg_control"')).toBeUndefined()
})
