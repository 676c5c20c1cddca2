import { describe, expect, it } from 'vitest'
import {
  ADOPTIONS,
  type Change,
  columnWith,
  givenBy,
  index,
  withIndex,
  withoutColumn,
  withoutIndex,
} from '../test/specified-schema.ts'
import { type Column, type Difference, OWN_TABLES, type Schema, SPECIFICATION } from './adoption.ts'
import { findDifferences, findSharedAccounts } from './find-differences.ts'

/** `problem: blocks, by hand` */
const summary = ({ problem, isBlocking, fix }: Difference): string =>
  `${problem}: ${isBlocking ? 'blocks' : 'is noted'}, ${fix ? 'adopted' : 'by hand'}`

const summarise = (change: Change): string[] => findDifferences(givenBy(change)).map(summary)

const withTable =
  (table_name: string, columns: readonly string[]) =>
  (schema: Schema): Partial<Schema> => ({
    tables: [...schema.tables, { table_name, is_table: true, is_transactional: true }],
    columns: [
      ...schema.columns,
      ...schema.columns
        .slice(0, 1)
        .flatMap((column) => columns.map((column_name) => ({ ...column, table_name, column_name }))),
    ],
  })

describe.each(['mysql', 'postgres'] as const)('the specified tables of %s', (engine) => {
  it('differ in nothing, before and after their migrations', () => {
    expect(summarise({ engine })).toEqual([])
    expect(findSharedAccounts(givenBy({ engine }))).toEqual([])
    const unmigrated = ({ indexes }: Schema) => ({
      indexes: indexes.map((each) => ({
        ...each,
        key_columns: each.key_columns.replace(/lower\((.*)\)/, '$1'),
      })),
    })
    expect(summarise({ engine, isMigrated: false, change: unmigrated })).toEqual([])
  })

  it('differ in nothing where they are absent', () => {
    const change = () => ({ tables: [], columns: [], indexes: [] })
    expect(summarise({ engine, isMigrated: false, change })).toEqual([])
    expect(findSharedAccounts(givenBy({ engine, change }))).toEqual([])
  })

  it('may be wider, and have further columns with a default', () => {
    const further = { column_name: 'hobby', is_nullable: false, has_default: true }
    const change = ({ columns }: Schema) => ({
      columns: [
        ...columns.map((column) => ({ ...column, max_length: column.data_type === 'binary' ? 16 : null })),
        ...columns.slice(1, 2).map((column) => ({ ...column, ...further })),
      ],
    })
    expect(summarise({ engine, change })).toEqual([])
  })

  it.each(['email', 'username'])('without a unique index on %s block everything', (column) => {
    const change = withoutIndex(ADOPTIONS[engine].uniqueKey(column))
    const expected = [`users.${column} has no unique index: blocks, adopted`]
    expect(summarise({ engine, change })).toEqual(expected)
    expect(findSharedAccounts(givenBy({ engine, change })).map(summary)).toEqual(expected)
    // An index that is not unique, of another table, or of more columns is none.
    for (const useless of [
      { ...index('users', 'ix_a', column), is_unique: false },
      index('people', 'ix_b', ADOPTIONS[engine].uniqueKey(column)),
      index('users', 'ix_c', `${column},role`),
    ]) {
      const withUseless = (schema: Schema) => ({ indexes: [...(change(schema).indexes ?? []), useless] })
      expect(summarise({ engine, change: withUseless })).toEqual(expected)
    }
  })

  it('get a unique index under another name where one that is not unique has the usual name', () => {
    const change = ({ indexes }: Schema) => ({
      indexes: indexes.map((each) => ({ ...each, is_unique: each.index_name !== 'ix_username' })),
    })
    const [{ fix } = { fix: '' }] = findDifferences(givenBy({ engine, isMigrated: false, change }))
    expect(fix).toMatch(
      engine === 'mysql' ? /add unique index uq_username/ : /create unique index uq_username/,
    )
  })

  it('without a primary key can give two users one id', () => {
    const change = withoutIndex('userid')
    expect(findDifferences(givenBy({ engine, change }))).toMatchObject([
      { problem: 'users.userid is not the primary key', fix: 'alter table users add primary key (userid);' },
    ])
    expect(findSharedAccounts(givenBy({ engine, change }))).toHaveLength(1)
  })

  it.each(SPECIFICATION.map(({ table, column, isIdentifying }) => ({ table, column, isIdentifying })))(
    'without the column $table.$column',
    ({ table, column, isIdentifying }) => {
      expect(summarise({ engine, change: withoutColumn(`${table}.${column}`) })).toEqual([
        `${table} has no column ${column}: blocks, ${isIdentifying ? 'by hand' : 'adopted'}`,
      ])
    },
  )

  it.each<[string, Partial<Column>, string | undefined]>([
    ['users.name', { max_length: 49 }, 'has 49 characters, not 50: is noted, adopted'],
    ['users.name', { max_length: 50 }, undefined],
    ['users.role', { is_nullable: false }, 'cannot be null: is noted, adopted'],
    ['users.role', { is_nullable: false, has_default: true }, undefined],
    ['users.deleted_at', { is_nullable: false }, 'cannot be null: blocks, adopted'],
    ['users.username', { is_nullable: true }, 'can be null: is noted, adopted'],
    ['users.created_at', { has_default: false }, 'has no default: is noted, adopted'],
    ['users_property.id', { has_default: false }, 'is not generated: blocks, adopted'],
    ['users.created_at', { data_type: 'int' }, 'blocks, by hand'],
    ['users.created_at', { data_type: 'date' }, 'blocks, adopted'],
    ['users_property.id', { has_default: false, data_type: 'uuid' }, 'blocks, by hand'],
    ['users.userid', { data_type: 'int' }, 'blocks, by hand'],
    ['users.userid', { max_length: 36 }, 'blocks, by hand'],
  ])('where %s is %j', (name, facts, expected) => {
    const found = summarise({ engine, change: columnWith(name, facts) })
    expect(found.length > 0).toBe(expected !== undefined)
    for (const each of found) {
      expect(each.startsWith(name)).toBe(true)
      expect(each).toContain(expected)
    }
  })

  it('with columns that must be given, and are not Latchkey’s', () => {
    const facts = { column_name: 'tenant', is_nullable: false, has_default: false }
    const change = ({ columns }: Schema) => ({
      columns: [
        ...columns,
        ...['users', 'users_property', 'people'].flatMap((table_name) =>
          columns.slice(0, 1).map((each) => ({ ...each, ...facts, table_name })),
        ),
      ],
    })
    const fault = 'is not specified, cannot be null and has no default'
    expect(summarise({ engine, change })).toEqual([
      `users.tenant ${fault}: is noted, by hand`,
      `users_property.tenant ${fault}: blocks, by hand`,
    ])
  })

  it('whose unique index of the username would be taken for that of the e-mail', () => {
    const key = ADOPTIONS[engine].uniqueKey('username')
    const [difference] = findDifferences(givenBy({ engine, change: withIndex(index('users', 'uq_1', key)) }))
    expect(difference).toMatchObject({
      problem: 'users.username has a unique index called uq_1',
      isBlocking: false,
      fix: expect.stringContaining('ix_username_uq_1'),
    })
    expect(summarise({ engine, change: withIndex(index('users', 'the_username', key)) })).toEqual([])
  })
})

describe('tables of another product', () => {
  it('are all that is said', () => {
    const tables = [{ table_name: 'users', is_table: false, is_transactional: false }]
    const change = (schema: Schema) => ({ ...withoutColumn('users.password')(schema), tables })
    expect(summarise({ change })).toEqual([
      'users is a view: blocks, by hand',
      'users has no column password: blocks, by hand',
    ])
  })

  it.each(Object.entries(OWN_TABLES))('may have the name of Latchkey’s own: %s', (table_name, own) => {
    expect(summarise({ change: withTable(table_name, ['nick', ...own]) })).toEqual([])
    expect(summarise({ change: withTable(table_name, own.slice(1)) })).toEqual([
      `${table_name} has no column id: blocks, by hand`,
    ])
  })

  it('may have ids that are no UUIDs', () => {
    const change = columnWith('users_property.userid', { data_type: 'int', full_type: 'int(11)' })
    expect(summarise({ change })).toEqual(['users_property.userid is int(11), not binary: blocks, by hand'])
  })

  it('may be users_property without users', () => {
    const change = ({ tables, columns }: Schema) => ({
      tables: tables.slice(1),
      columns: columns.filter(({ table_name }) => table_name !== 'users'),
    })
    expect(summarise({ change })).toEqual(['users_property exists without a table users: blocks, by hand'])
  })
})

describe('MySQL', () => {
  it.each([
    ['utf8mb4_bin', 'blocks, adopted'],
    ['utf8mb4_0900_as_cs', 'blocks, adopted'],
    ['utf8mb4_unicode_ci', undefined],
  ])('compares an e-mail by %s', (collation_name, expected) => {
    const change = columnWith('users.email', { collation_name })
    const problems = expected ? [`users.email has the collation ${collation_name}: ${expected}`] : []
    expect(summarise({ change })).toEqual(problems)
    expect(findSharedAccounts(givenBy({ change })).map(summary)).toEqual(problems)
    // The migration converts it.
    expect(summarise({ change, isMigrated: false })).toEqual([])
    expect(summarise({ change: columnWith('users.name', { collation_name }) })).toEqual([])
  })

  it('converts what another character set stores, and keeps the default', () => {
    const change = columnWith('users.name', { charset_name: 'latin1', kept_clauses: " default 'x'" })
    expect(findDifferences(givenBy({ change }))).toMatchObject([
      {
        problem: 'users.name has the character set latin1',
        isBlocking: false,
        fix: "alter table users modify name varchar(50) character set utf8mb4 null default 'x';",
      },
    ])
    expect(summarise({ change: columnWith('users.password', { charset_name: 'latin1' }) })).toEqual([])
    const email = columnWith('users.email', { charset_name: 'latin1', max_length: 80 })
    expect(summarise({ change: email, isMigrated: false })).toEqual([])
  })

  it('makes tables transactional, and lets an update set updated_at', () => {
    const tables = ({ tables }: Schema) => ({
      tables: tables.map((table) => ({ ...table, is_transactional: table.table_name !== 'users' })),
    })
    expect(summarise({ change: tables })).toEqual(['users is stored without transactions: blocks, adopted'])
    expect(summarise({ change: columnWith('users.updated_at', { is_set_on_update: false }) })).toEqual([
      'users.updated_at is not set by an update: is noted, adopted',
    ])
  })
})
