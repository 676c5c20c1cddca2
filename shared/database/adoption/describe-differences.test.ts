import { expect, it } from 'vitest'
import { describeDifferences, describePlan, describeSharedAccounts } from './describe-differences.ts'
import { BLOCKING, BLOCKING_FIXABLE, HARMLESS } from './difference.ts'

const NO_INDEX = {
  subject: 'users.email',
  fault: 'has no unique index',
  consequence: 'Two accounts can share it.',
  ...BLOCKING_FIXABLE,
  sql: 'alter table users;\nselect 1;',
}
const NULL_ROWS = {
  subject: 'users.password',
  fault: 'is null for',
  consequence: 'These logins fail.',
  ...BLOCKING,
  examples: ['"ada"', '"eve"'],
}
const ENCODING = {
  subject: 'the database',
  fault: 'has the encoding X',
  consequence: 'So be it.',
  ...HARMLESS,
}

it('describes each difference with its rows, what it causes and the SQL that removes it', () => {
  expect(describeDifferences([NO_INDEX, NULL_ROWS, ENCODING]).split('\n')).toEqual([
    'users.email has no unique index',
    '  Two accounts can share it.',
    '  alter table users;',
    '  select 1;',
    'users.password is null for:',
    '  "ada"',
    '  "eve"',
    '  These logins fail.',
    'the database has the encoding X',
    '  So be it.',
  ])
})

it('says in one line why no service starts, and what to do', () => {
  expect(describeSharedAccounts([NO_INDEX, { ...NO_INDEX, subject: 'users.username' }])).toBe(
    'Two accounts of this database could share a name, so nothing starts on it: users.email has no unique index; ' +
      'users.username has no unique index. `npm run migrate -- status` shows what to do.',
  )
})

it('plans the fixes, then the migrations, as SQL text', () => {
  expect(describePlan([NO_INDEX], ['0001_users', '0002_widen_password']).split('\n')).toEqual([
    '-- users.email has no unique index',
    'alter table users;',
    'select 1;',
    '-- then the migration 0001_users',
    '-- then the migration 0002_widen_password',
  ])
})
