import { expect, it } from 'vitest'
import { mysql } from '../mysql/dialect.ts'
import { createQueryable } from '../queryable.ts'
import { type Change, columnWith, givenBy, withoutColumn } from '../test/specified-schema.ts'
import { sqlite } from '../test/sqlite/dialect.ts'
import { toAppError } from '../to-app-error.ts'
import type { Difference } from './adoption.ts'
import { describeDifferences, describePlan, describeSharedAccounts } from './describe-differences.ts'
import { chooseFixes, inspectDatabase } from './inspect-database.ts'

/** The problems of a database with this catalog, and whether a statement has read rows. */
async function inspect({ isMigrated = true, ...change }: Change) {
  const { schema } = givenBy(change)
  const catalog = new Map<string, object[]>(
    Object.entries(schema).map(([part, found]) => [`catalog-${part}`, found]),
  )
  let readsRows = false
  const query = async ({ name }: { name: string }) => {
    readsRows ||= !catalog.has(name)
    return catalog.get(name) ?? []
  }
  const db = createQueryable(mysql, { query, execute: async () => 0 }, toAppError)
  const applied = new Set(isMigrated ? ['0001_users', '0002_widen_password', '0003_match_without_case'] : [])
  const problems = (await inspectDatabase(db, applied)).map(({ problem }) => problem)
  return { problems, readsRows }
}

it.each<[string, Change, { problems: string[]; readsRows: boolean }]>([
  ['a migrated database', {}, { problems: [], readsRows: false }],
  ['pending migrations', { isMigrated: false }, { problems: [], readsRows: true }],
  [
    'a difference that blocks nothing',
    { change: columnWith('users.role', { is_nullable: false }) },
    { problems: ['users.role cannot be null'], readsRows: false },
  ],
  [
    'one that blocks',
    { change: columnWith('users.deleted_at', { is_nullable: false }) },
    { problems: ['users.deleted_at cannot be null'], readsRows: true },
  ],
  [
    'no tables',
    { isMigrated: false, change: () => ({ tables: [], columns: [], indexes: [] }) },
    { problems: [], readsRows: false },
  ],
  [
    'tables of another product',
    { isMigrated: false, change: withoutColumn('users.email') },
    { problems: ['users has no column email'], readsRows: false },
  ],
])('reads rows only where they can matter: %s', async (_, change, expected) => {
  expect(await inspect(change)).toEqual(expected)
})

it('finds nothing in a database that cannot be adopted, and reads nothing', async () => {
  const driver = { query: () => Promise.reject(new Error('read')), execute: async () => 0 }
  expect(await inspectDatabase(createQueryable(sqlite, driver, toAppError), new Set())).toEqual([])
})

const NO_INDEX: Difference = {
  problem: 'users.email has no unique index',
  consequence: 'Two accounts can share it.',
  isBlocking: true,
  fix: 'alter table users;\nselect 1;',
}
const NULL_ROWS: Difference = {
  problem: 'users.password is null for',
  consequence: 'These logins fail.',
  isBlocking: true,
  examples: ['"ada"', '"eve"'],
}
const NO_DEFAULT: Difference = { ...NO_INDEX, problem: 'users.created_at has no default', isBlocking: false }

it('fixes with --adopt what SQL can fix, and refuses what blocks and is not fixed', () => {
  expect(chooseFixes([NO_INDEX, NO_DEFAULT], true)).toEqual([NO_INDEX, NO_DEFAULT])
  expect(chooseFixes([NO_DEFAULT], false)).toEqual([])
  expect(() => chooseFixes([NO_INDEX, NO_DEFAULT], false)).toThrow(
    'The database cannot be used as it is, and nothing was changed. `npm run migrate -- up --adopt` runs this SQL; ' +
      'with --dry-run it prints what it would do.\nusers.email has no unique index\n  Two accounts can share it.\n' +
      '  alter table users;\n  select 1;',
  )
  for (const adopt of [false, true])
    expect(() => chooseFixes([NO_INDEX, NULL_ROWS], adopt)).toThrow(
      'The database cannot be used as it is, and nothing was changed. Change this by hand first.\n' +
        'users.password is null for:\n  "ada"\n  "eve"\n  These logins fail.',
    )
})

it('describes differences, the reason why no service starts, and the plan', () => {
  expect(describeDifferences([NO_INDEX, NULL_ROWS]).split('\n')).toEqual([
    'users.email has no unique index',
    '  Two accounts can share it.',
    '  alter table users;',
    '  select 1;',
    'users.password is null for:',
    '  "ada"',
    '  "eve"',
    '  These logins fail.',
  ])
  expect(
    describeSharedAccounts([NO_INDEX, { ...NO_INDEX, problem: 'users.username has no unique index' }]),
  ).toBe(
    'users.email has no unique index; users.username has no unique index. Fix this before Latchkey uses this database, ' +
      'or two accounts can share a name: `npm run migrate -- status` shows how.',
  )
  expect(describePlan([NO_INDEX], ['0001_users'])).toBe(
    '-- users.email has no unique index\nalter table users;\nselect 1;\n-- then the migration 0001_users',
  )
})
