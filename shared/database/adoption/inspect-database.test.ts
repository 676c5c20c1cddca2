import { expect, it } from 'vitest'
import { mysql } from '../mysql/dialect.ts'
import { postgres } from '../postgres/dialect.ts'
import { createQueryable } from '../queryable.ts'
import { ALL, type Change, columnWith, givenBy, withoutColumn } from '../test/specified-schema.ts'
import { sqlite } from '../test/sqlite/dialect.ts'
import { toAppError } from '../to-app-error.ts'
import { inspectDatabase } from './inspect-database.ts'
import type { Schema } from './schema.ts'

const DIALECTS = { mysql, postgres }
const ORPHANED = 'rows-users-property-has-rows-of-users-that-do-not-exist-with'

/** The differences of a database with this catalog, and how many statements read rows; `rows` are found by name. */
async function inspect({ rows = {}, ...change }: Change & { rows?: Record<string, object[]> } = {}) {
  const { schema, applied } = givenBy(change)
  const catalog: Record<string, object[]> = Object.fromEntries(
    Object.entries(schema).map(([part, found]) => [`catalog-${part}`, [found].flat()]),
  )
  let reads = 0
  const query = async ({ name }: { name: string }) => {
    if (catalog[name]) return catalog[name]
    reads++
    return rows[name] ?? []
  }
  const driver = { query, execute: async () => 0 }
  const db = createQueryable(DIALECTS[change.engine ?? 'mysql'], driver, toAppError)
  return { differences: await inspectDatabase(db, applied), reads }
}

const faultsOf = async (change: Parameters<typeof inspect>[0]) => {
  const { differences, reads } = await inspect(change)
  return { faults: differences.map(({ subject, fault }) => `${subject} ${fault}`), readsRows: reads > 0 }
}

const NONE = { faults: [], readsRows: false }
const nullableRole = columnWith('users.role', { is_nullable: false })

it.each<{ what: string; change: Change; expected: { faults: string[]; readsRows: boolean } }>([
  { what: 'an adopted database', change: {}, expected: NONE },
  { what: 'one of PostgreSQL', change: { engine: 'postgres' }, expected: NONE },
  {
    what: 'a pending migration of a column',
    change: { applied: ALL.slice(0, 1) },
    expected: { ...NONE, readsRows: true },
  },
  {
    what: 'a pending migration of an index',
    change: { engine: 'postgres', applied: ALL.slice(0, 2) },
    expected: { ...NONE, readsRows: true },
  },
  {
    what: 'a difference that blocks nothing',
    change: { change: nullableRole },
    expected: { faults: ['users.role cannot be null'], readsRows: false },
  },
  {
    what: 'one that blocks',
    change: { change: columnWith('users.deleted_at', { is_nullable: false }) },
    expected: { faults: ['users.deleted_at cannot be null'], readsRows: true },
  },
  {
    what: 'one that blocks, after one that does not',
    change: {
      change: (schema: Schema) =>
        columnWith('users.deleted_at', { is_nullable: false })({ ...schema, ...nullableRole(schema) }),
    },
    expected: { faults: ['users.role cannot be null', 'users.deleted_at cannot be null'], readsRows: true },
  },
  {
    what: 'no tables',
    change: {
      applied: [],
      change: () => ({ tables: [], columns: [], indexes: [], foreignKeys: [] }),
    },
    expected: NONE,
  },
  {
    what: 'tables of another product',
    change: { applied: [], change: withoutColumn('users.email') },
    expected: { faults: ['users has no column email'], readsRows: false },
  },
])('reads rows only where they can matter: $what', async ({ change, expected }) => {
  expect(await faultsOf(change)).toEqual(expected)
})

it('adds a foreign key only where every row has its user', async () => {
  const withoutKey = (schema: Schema) => ({ ...nullableRole(schema), foreignKeys: [] })
  const change: Change = { applied: [], change: withoutKey }
  const isSafe = async (rows: Record<string, object[]>) =>
    (await inspect({ ...change, rows })).differences.map((each) => [each.fault.slice(0, 18), each.isSafe])
  expect(await isSafe({})).toEqual([
    ['cannot be null', true],
    ['has no foreign key', true],
  ])
  expect(await isSafe({ [ORPHANED]: [{ example: 'phone' }] })).toEqual([
    ['cannot be null', true],
    ['has no foreign key', false],
    ['has rows of users ', false],
  ])
  expect(await isSafe({ 'rows-users-deleted-at-is-not-a-date-for': [{ example: 'ada' }] })).toEqual([
    ['cannot be null', true],
    ['has no foreign key', true],
    ['is not a date for', false],
  ])
})

it('finds nothing in a database that cannot be adopted, and reads nothing', async () => {
  const driver = { query: () => Promise.reject(new Error('read')), execute: async () => 0 }
  expect(await inspectDatabase(createQueryable(sqlite, driver, toAppError), new Set())).toEqual([])
})

it('requires that the database describes itself', async () => {
  const driver = { query: async () => [], execute: async () => 0 }
  await expect(inspectDatabase(createQueryable(mysql, driver, toAppError), new Set())).rejects.toThrow(
    'The database did not describe itself',
  )
})
