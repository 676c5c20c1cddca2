import { describe, expect, it } from 'vitest'
import { chooseFixes, findDifferences, findSharedAccounts } from './adopt.ts'
import type { Difference } from './adoption/difference.ts'
import type { Column, Schema } from './adoption/schema.ts'
import { SPECIFICATION } from './adoption/specification.ts'
import {
  ADOPTIONS,
  ALL,
  type Change,
  columnWith,
  givenBy,
  index,
  withIndex,
  withoutColumn,
  withoutIndex,
} from './test/specified-schema.ts'

/** `subject fault: blocks, by hand` */
const summary = ({ subject, fault, isBlocking, isSafe }: Difference): string =>
  `${subject} ${fault}: ${isBlocking ? 'blocks' : 'is noted'}, ${isSafe ? 'adopted' : 'by hand'}`

const summarise = (change: Change): string[] => findDifferences(givenBy(change)).map(summary)

it('knows a table of another product by the columns that the specification and Latchkey cannot do without', () => {
  const namesOf = (columns: typeof SPECIFICATION) => columns.map(({ table, column }) => `${table}.${column}`)
  expect(namesOf(SPECIFICATION.filter(({ isIdentifying }) => isIdentifying))).toEqual([
    'users.userid',
    'users.email',
    'users.username',
    'users.password',
    'users_property.id',
    'users_property.name',
    'users_property.value',
    'users_property.userid',
  ])
  expect(namesOf(SPECIFICATION.filter(({ isNullable }) => !isNullable))).toEqual([
    'users.userid',
    'users.username',
    'users.password',
    'users_property.id',
    'users_property.userid',
  ])
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
    expect(summarise({ engine, applied: [], change: unmigrated })).toEqual([])
  })

  it('differ in nothing where they are absent', () => {
    const change = () => ({ tables: [], columns: [], indexes: [], foreignKeys: [] })
    expect(summarise({ engine, applied: [], change })).toEqual([])
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
    const shared = findSharedAccounts(givenBy({ engine, change }))
    expect(shared.map(summary)).toEqual(expected)
    expect(shared[0]?.consequence).toMatch(
      column === 'email' ? /^A user can take the e-mail/ : /one username/,
    )
    // An index that is not unique, of another table, or of more columns is none.
    for (const useless of [
      { ...index('users', 'ix_a', column), is_unique: false },
      index('people', 'ix_b', ADOPTIONS[engine].uniqueKey(column)),
      index('users', 'ix_c', `${column},role`),
    ])
      expect(
        summarise({
          engine,
          change: (schema) => ({ indexes: [...(change(schema).indexes ?? []), useless] }),
        }),
      ).toEqual(expected)
  })

  it.each(['userid', 'id'])('without a primary key on %s', (column) => {
    const expected =
      column === 'userid'
        ? 'users.userid is not the primary key: blocks, adopted'
        : 'users_property.id is not the primary key: is noted, adopted'
    expect(summarise({ engine, change: withoutIndex(column) })).toEqual([expected])
    const table = column === 'userid' ? 'users' : 'users_property'
    expect(findDifferences(givenBy({ engine, change: withoutIndex(column) }))[0]?.sql).toBe(
      `alter table ${table} add primary key (${column});`,
    )
    expect(findSharedAccounts(givenBy({ engine, change: withoutIndex(column) }))).toHaveLength(
      column === 'userid' ? 1 : 0,
    )
  })

  it.each(SPECIFICATION.map(({ table, column, isIdentifying }) => ({ table, column, isIdentifying })))(
    'without the column $table.$column',
    ({ table, column, isIdentifying }) => {
      const found = summarise({ engine, change: withoutColumn(`${table}.${column}`) })
      expect(found).toEqual([
        `${table} has no column ${column}: blocks, ${isIdentifying ? 'by hand' : 'adopted'}`,
      ])
    },
  )

  it.each<[string, Partial<Column>, string | undefined]>([
    ['users.name', { max_length: 49 }, 'has 49 characters, not 50: is noted, adopted'],
    ['users.name', { max_length: 50 }, undefined],
    ['users_property.value', { max_length: 100 }, 'has 100 characters, not 250: is noted, adopted'],
    ['users.role', { is_nullable: false }, 'cannot be null: is noted, adopted'],
    ['users.role', { is_nullable: false, has_default: true }, undefined],
    ['users.deleted_at', { is_nullable: false }, 'cannot be null: blocks, adopted'],
    ['users.username', { is_nullable: true }, 'can be null: is noted, adopted'],
    ['users_property.userid', { is_nullable: true }, 'can be null: is noted, adopted'],
    ['users.created_at', { has_default: false }, 'has no default: is noted, adopted'],
    ['users.updated_at', { is_set_on_update: false }, 'is not set by an update: is noted, adopted'],
    ['users_property.id', { has_default: false }, 'is not generated: blocks, adopted'],
    ['users.created_at', { data_type: 'int' }, 'blocks, by hand'],
    ['users.created_at', { data_type: 'date' }, 'blocks, adopted'],
    ['users_property.id', { has_default: false, data_type: 'uuid' }, 'blocks, by hand'],
    ['users.userid', { data_type: 'int' }, 'blocks, by hand'],
    ['users.userid', { max_length: 36 }, 'blocks, by hand'],
  ])('where %s is %j', (name, facts, expected) => {
    const found = summarise({ engine, change: columnWith(name, facts) })
    expect(found.map((each) => each.startsWith(name))).toEqual(found.map(() => true))
    if (expected === undefined) expect(found).toEqual([])
    else for (const each of found) expect(each).toContain(expected)
    expect(found.length > 0).toBe(expected !== undefined)
  })

  it('with columns that must be given, and are not Latchkey’s', () => {
    const facts = { column_name: 'tenant', is_nullable: false, has_default: false }
    const change = ({ columns }: Schema) => ({
      columns: [
        ...columns,
        ...columns
          .filter(({ column_name }) => column_name === 'name')
          .map((column) => ({ ...column, ...facts })),
        ...columns.slice(1, 2).map((column) => ({ ...column, ...facts, table_name: 'people' })),
      ],
    })
    const fault = 'is not specified, cannot be null and has no default'
    expect(summarise({ engine, change })).toEqual([
      `users.tenant ${fault}: is noted, by hand`,
      `users_property.tenant ${fault}: blocks, by hand`,
    ])
    expect(findDifferences(givenBy({ engine, change })).map(({ consequence }) => consequence)).toEqual([
      'Users::create and Users::import fail.',
      'Tokens cannot be revoked and passwords cannot be reset.',
    ])
    const likeOfUsers = ({ columns }: Schema) => ({
      columns: [
        ...columns,
        ...columns
          .slice(0, 1)
          .map((column) => ({ ...column, ...facts, table_name: 'users_property', column_name: 'role' })),
      ],
    })
    expect(summarise({ engine, change: likeOfUsers })).toEqual([
      `users_property.role ${fault}: blocks, by hand`,
    ])
  })

  it('whose unique index of the username would be taken for that of the e-mail', () => {
    const key = ADOPTIONS[engine].uniqueKey('username')
    const [difference] = findDifferences(givenBy({ engine, change: withIndex(index('users', 'uq_1', key)) }))
    expect(difference).toMatchObject({
      subject: 'users.username',
      fault: 'has a unique index called uq_1',
      isBlocking: false,
    })
    expect(difference?.sql).toContain('ix_username_uq_1')
    for (const harmless of [
      index('users', 'the_username', key),
      index('people', 'uq_2', key),
      index('users', 'uq_3', 'role'),
      { ...index('users', 'uq_4', key), is_unique: false },
    ])
      expect(summarise({ engine, change: withIndex(harmless) })).toEqual([])
    const plain = index('users', 'uq_5', 'username')
    expect(summarise({ engine, change: withIndex(plain) })).toEqual([
      'users.username has a unique index called uq_5: is noted, adopted',
    ])
  })

  it('without a foreign key', () => {
    const expected = ['users_property.userid has no foreign key to users.userid: is noted, adopted']
    const key = {
      table_name: 'users_property',
      column_name: 'userid',
      referenced_table: 'users',
      referenced_column: 'userid',
    }
    for (const other of [
      { table_name: 'people' },
      { column_name: 'tenant' },
      { referenced_table: 'people' },
      { referenced_column: 'id' },
    ])
      expect(summarise({ engine, change: () => ({ foreignKeys: [{ ...key, ...other }] }) })).toEqual(expected)
    const [difference] = findDifferences(givenBy({ engine, change: () => ({ foreignKeys: [] }) }))
    expect(difference?.sql).toBe(
      'alter table users_property add constraint fk_user_property foreign key (userid) references users (userid);',
    )
  })

  it('in a database that stores or compares too little', () => {
    const server = { encoding: 'LATIN1', stores_unicode: false, folds_unicode: false }
    expect(summarise({ engine, change: () => ({ server }) })).toEqual([
      'the database has the encoding LATIN1: is noted, by hand',
      'the database has a locale that knows the case of ASCII letters only: is noted, by hand',
    ])
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

  const OWN = {
    password_reset: ['id', 'userid', 'token_hash', 'code_hash', 'expires_at'],
    mail_outbox: ['id', 'payload', 'expires_at'],
    token_revocation: ['id', 'revoked_from', 'expires_at'],
    email_change: ['id', 'userid', 'code_hash', 'expires_at'],
    sign_up: ['id', 'email_key', 'code_hash', 'expires_at'],
    audit_event: ['id', 'userid', 'request_id', 'event_count'],
  }
  it.each(Object.entries(OWN))('may have the name of Latchkey’s own: %s', (table_name, own) => {
    const withTable = (names: readonly string[]) => (schema: Schema) => ({
      tables: [...schema.tables, { table_name, is_table: true, is_transactional: true }],
      columns: [
        ...schema.columns,
        ...schema.columns
          .slice(0, 1)
          .flatMap((column) => names.map((column_name) => ({ ...column, table_name, column_name }))),
      ],
    })
    expect(summarise({ change: withTable(['nick', ...own]) })).toEqual([])
    expect(summarise({ change: withTable(own.slice(1)) })).toEqual([
      `${table_name} has no column id: blocks, by hand`,
    ])
    expect(summarise({ change: withTable(['nick']) })).toEqual([
      `${table_name} has no column ${own.join(', ')}: blocks, by hand`,
    ])
  })

  it('may have ids that are no UUIDs, or be views', () => {
    const change = columnWith('users_property.userid', { data_type: 'int', full_type: 'int(11)' })
    const further = (schema: Schema) => ({ ...change(schema), foreignKeys: [] })
    expect(summarise({ change: further })).toEqual([
      'users_property.userid is int(11), not binary: blocks, by hand',
    ])
    const view = ({ tables }: Schema) => ({
      tables: tables.map((table) => ({ ...table, is_table: table.table_name === 'users' })),
    })
    expect(summarise({ change: view })).toEqual(['users_property is a view: blocks, by hand'])
    const other = ({ tables }: Schema) => ({
      tables: [...tables, { table_name: 'people', is_table: false, is_transactional: true }],
    })
    expect(summarise({ change: other })).toEqual([])
  })

  it('may be users_property alone', () => {
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
    ['utf8mb4_0900_ai_ci', 'is noted, adopted'],
    ['utf8mb4_unicode_ci', 'is noted, adopted'],
    ['utf8mb4_uca1400_as_ci', 'is noted, adopted'],
    ['utf8mb4_uca1400_nopad_as_ci', undefined],
  ])('compares an e-mail by %s', (collation_name, expected) => {
    const change = columnWith('users.email', { collation_name })
    const found = summarise({ change })
    expect(found).toEqual(expected ? [`users.email has the collation ${collation_name}: ${expected}`] : [])
    const shared = findSharedAccounts(givenBy({ change }))
    expect(shared.map(({ consequence }) => consequence)).toEqual(
      expected?.startsWith('blocks') ? [expect.stringContaining('can take the name of an admin')] : [],
    )
    // The migration converts it.
    expect(summarise({ change, applied: ALL.slice(0, 2) })).toEqual([])
    expect(summarise({ change: columnWith('users.name', { collation_name }) })).toEqual([])
  })

  it('converts what another character set stores', () => {
    const change = columnWith('users.name', { charset_name: 'latin1', kept_clauses: " default 'x'" })
    const [difference, ...others] = findDifferences(givenBy({ change }))
    expect(others).toEqual([])
    expect(difference).toMatchObject({
      fault: 'has the character set latin1',
      isSafe: true,
      isBlocking: false,
    })
    expect(difference?.sql).toBe(
      "alter table users modify name varchar(50) character set utf8mb4 null default 'x';",
    )
    expect(summarise({ change: columnWith('users.password', { charset_name: 'latin1' }) })).toEqual([])
    const email = columnWith('users.email', { charset_name: 'latin1', max_length: 80 })
    expect(summarise({ change: email, applied: [] })).toEqual([])
  })

  it('makes tables transactional', () => {
    const change = ({ tables }: Schema) => ({
      tables: [...tables, { table_name: 'people', is_table: true, is_transactional: true }].map((table) => ({
        ...table,
        is_transactional: false,
      })),
    })
    expect(findDifferences(givenBy({ change })).map(({ subject, sql }) => [subject, sql])).toEqual([
      ['users', 'alter table users engine = InnoDB;'],
      ['users_property', 'alter table users_property engine = InnoDB;'],
    ])
    expect(summarise({ change })).toEqual([
      'users is stored without transactions: blocks, adopted',
      'users_property is stored without transactions: blocks, adopted',
    ])
    const [elsewhere] = findDifferences(givenBy({ engine: 'postgres', change }))
    expect(elsewhere).not.toHaveProperty('sql')
  })

  it('replaces an index that has the name and is not unique', () => {
    const change = (schema: Schema) => ({
      indexes: [
        ...(withoutIndex('email')(schema).indexes ?? []),
        { ...index('users', 'ix_email', 'email'), is_unique: false },
      ],
    })
    expect(findDifferences(givenBy({ change }))[0]?.sql).toMatch(
      /^alter table users drop index ix_email, modify email varchar\(120\) .* null, add unique index ix_email \(email\);$/,
    )
  })
})

describe('PostgreSQL', () => {
  const engine = 'postgres'

  it('needs an index without regard to case once its migration is applied', () => {
    const change = (schema: Schema) => ({
      indexes: schema.indexes.map((each) => ({
        ...each,
        key_columns: each.key_columns.replace('lower(email)', 'email'),
      })),
    })
    expect(summarise({ engine, change, applied: ALL.slice(0, 2) })).toEqual([])
    expect(findDifferences(givenBy({ engine, change }))).toMatchObject([
      { fault: 'has no unique index', sql: 'create unique index ix_email_folded on users (lower(email));' },
    ])
    const none = withoutIndex('lower(email)')
    expect(findDifferences(givenBy({ engine, change: none, applied: [] }))[0]?.sql).toBe(
      'create unique index ix_email on users (email);',
    )
  })

  it('creates what sets updated_at by a migration', () => {
    const change = columnWith('users.updated_at', { is_set_on_update: false })
    expect(summarise({ engine, change, applied: [] })).toEqual([])
    expect(summarise({ engine, change })).toHaveLength(1)
  })

  it('makes a padded column varying, except for the password that a migration widens', () => {
    const facts = { data_type: 'character', max_length: 80 }
    expect(
      findDifferences(givenBy({ engine, change: columnWith('users.email', facts), applied: [] })),
    ).toMatchObject([
      {
        isBlocking: true,
        isSafe: true,
        sql: 'alter table users alter column email type varchar(120), alter column email drop not null;',
      },
    ])
    const password = columnWith('users.password', { ...facts, max_length: 40 })
    expect(summarise({ engine, change: password, applied: ALL.slice(0, 1) })).toEqual([])
    expect(summarise({ engine, change: password })).toEqual([
      'users.password is full password, not character varying: blocks, adopted',
    ])
  })

  it('requires a password although a migration widens it', () => {
    const change = columnWith('users.password', { is_nullable: true })
    expect(summarise({ engine, change, applied: [] })).toEqual([
      'users.password can be null: is noted, adopted',
    ])
    expect(summarise({ engine: 'mysql', change, applied: [] })).toEqual([])
  })
})

describe('a migration', () => {
  const difference = (
    isBlocking: boolean,
    isSafe: boolean,
    sql: string | undefined = 'alter;',
  ): Difference => ({
    subject: `${isBlocking ? 'blocking' : 'noted'}, ${isSafe ? 'safe' : 'unsafe'}`,
    fault: 'differs',
    consequence: 'Something fails.',
    isBlocking,
    isSafe,
    ...(sql ? { sql } : {}),
  })
  const noted = [difference(false, true), difference(false, false)]

  it('removes with --adopt what is safe, and nothing without', () => {
    const safe = difference(true, true)
    expect(chooseFixes([safe, ...noted], true)).toEqual([safe, noted[0]])
    expect(chooseFixes(noted, false)).toEqual([])
    expect(chooseFixes([], true)).toEqual([])
  })

  it('is refused with what blocks it, and what to do', () => {
    expect(() => chooseFixes([difference(true, true), ...noted], false)).toThrow(
      'The database cannot be used as it is, and nothing was changed. `npm run migrate -- up --adopt` runs this SQL; ' +
        'with --dry-run it prints what it would do.\nblocking, safe differs\n  Something fails.\n  alter;',
    )
    for (const adopt of [false, true])
      expect(() => chooseFixes([difference(true, true), difference(true, false), ...noted], adopt)).toThrow(
        'The database cannot be used as it is, and nothing was changed. Change this by hand first.\n' +
          'blocking, unsafe differs\n  Something fails.\n  alter;',
      )
    expect(() => chooseFixes([difference(true, true, '')], true)).toThrow('nothing was changed')
  })
})
