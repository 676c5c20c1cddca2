import { describe, expect, it } from 'vitest'
import { mysqlAdoption } from '../mysql/adoption.ts'
import { ALL, columnWith, givenBy, index, withoutColumn, withoutIndex } from '../test/specified-schema.ts'
import { openEmpty } from '../test/sqlite/open-empty.ts'
import { findRowFaults } from './find-row-faults.ts'
import type { Adoption, Schema } from './schema.ts'

/** The rules of MySQL, in words of SQLite: the rows that they find are read from a real table. */
const ADOPTION: Adoption = {
  ...mysqlAdoption,
  likeness: (column, likeness) =>
    ({
      case: `lower(${column})`,
      space: `replace(lower(${column}), ' ', '')`,
      accent: `replace(replace(lower(${column}), ' ', ''), 'á', 'a')`,
    })[likeness],
  tooLong: (column, length) => `length(${column}) > ${length}`,
  impossibleMoment: (column) => `${column} like '0000%'`,
}

const TABLES = `
  create table users (userid, name, email, username, password, role, created_at, updated_at, deleted_at);
  create table users_property (id, name, value, userid);`

type Row = Record<string, string | null>

interface Situation {
  users?: readonly Row[]
  properties?: readonly Row[]
  change?: (schema: Schema) => Partial<Schema>
  applied?: readonly string[]
  /** In place of the rules of `ADOPTION`. */
  adoption?: { tooLong?: undefined; impossibleMoment?: undefined }
}

/** The faults of these rows, with the names of the statements that find them. */
async function search({ users = [], properties = [], change, applied = ALL, adoption = {} }: Situation) {
  await using database = await openEmpty()
  const { db } = database
  await db.runScript(TABLES)
  const insert = async (table: string, row: Row) => {
    const columns = Object.keys(row)
    const text = `insert into ${table} (${columns}) values (${columns.map((_, at) => `$${at + 1}`)})`
    await db.execute({ name: 'test-insert', text }, Object.values(row))
  }
  for (const [at, user] of users.entries())
    await insert('users', { userid: `id ${at}`, email: `${at}@example.com`, username: `user ${at}`, ...user })
  for (const property of properties) await insert('users_property', property)
  const rules: Adoption = Object.assign({}, ADOPTION, adoption)
  const names: string[] = []
  const recording: typeof db = {
    ...db,
    query(statement, values) {
      names.push(statement.name)
      return db.query(statement, values)
    },
  }
  const given = { ...givenBy({ applied, ...(change && { change }) }), adoption: rules }
  const faults = await findRowFaults(recording, given)
  return { faults, names }
}

/** `subject fault` with the examples. */
const summarise = async (situation: Situation) =>
  (await search(situation)).faults.map(({ subject, fault, examples }) => [`${subject} ${fault}`, examples])

const nullable = (name: string) => columnWith(name, { is_nullable: true })
const unmigrated = ALL.slice(0, 2)
const wideEmail = columnWith('users.email', { max_length: 200 })

describe('rows of users', () => {
  const USERS = [{ password: 'x', name: null, created_at: '2026-01-01' }, { password: 'x' }]

  it('are as specified', async () => {
    expect(await summarise({ users: USERS, change: wideEmail, applied: unmigrated })).toEqual([])
  })

  it('are searched by statements that each have a name of their own, and no more than is needed', async () => {
    const change = (schema: Schema): Partial<Schema> => ({
      columns: schema.columns.map((column) => ({
        ...column,
        is_nullable: column.is_nullable || ['username', 'userid'].includes(column.column_name),
        max_length: column.column_name === 'email' ? 200 : column.max_length,
      })),
      foreignKeys: [],
      indexes: [],
    })
    const { names } = await search({ users: USERS, change, applied: unmigrated })
    expect(names).toEqual([
      'rows-users-userid-is-null-for',
      'rows-users-username-is-null-for',
      'rows-users-email-is-longer-than-characters-for',
      'rows-users-created-at-is-not-a-date-for',
      'rows-users-updated-at-is-not-a-date-for',
      'rows-users-deleted-at-is-not-a-date-for',
      'rows-users-userid-belongs-to-another-user-too-for',
      'rows-users-property-has-rows-of-users-that-do-not-exist-with',
      'any-alike-email',
      'any-alike-username',
    ])
  })

  it('have no value where one is required, in a column that can be null', async () => {
    const users = [{ password: null, name: null }, { username: null, password: 'x' }, { password: null }]
    expect(await summarise({ users, change: nullable('users.password') })).toEqual([
      ['users.password is null for', ['"user 0"', '"user 2"']],
    ])
    expect(await summarise({ users, change: nullable('users.username') })).toEqual([
      ['users.username is null for', ['"1@example.com"']],
    ])
    expect(await summarise({ users })).toEqual([])
  })

  it('are listed up to ten, with what a terminal would not show', async () => {
    const users = Array.from({ length: 11 }, (_, at) => ({
      username: `u${String(at).padStart(2, '0')}\u0007`,
    }))
    const [all] = (await search({ users: users.slice(1), change: nullable('users.password') })).faults
    expect(all?.examples).toHaveLength(10)
    const [more] = (await search({ users, change: nullable('users.password') })).faults
    expect(more?.examples).toHaveLength(11)
    expect(more?.examples?.slice(0, 1)).toEqual(['"u00\\x07"'])
    expect(more?.examples?.slice(9)).toEqual(['"u09\\x07"', 'and more'])
  })

  it('are longer than a migration leaves them', async () => {
    const users = [{ email: 'e'.repeat(120) }, { email: 'f'.repeat(121), name: 'n'.repeat(51) }]
    const expected = [['users.email is longer than 120 characters for', ['"user 1"']]]
    expect(await summarise({ users, change: wideEmail, applied: unmigrated })).toEqual(expected)
    const unlimited = columnWith('users.email', { max_length: null })
    expect(await summarise({ users, change: unlimited, applied: unmigrated })).toEqual(expected)
    expect(await summarise({ users, change: wideEmail }), 'none is pending').toEqual([])
    expect(await summarise({ users, applied: unmigrated }), 'the column is as specified').toEqual([])
    const wideName = columnWith('users.name', { max_length: 200 })
    expect(await summarise({ users, change: wideName, applied: [] }), 'none narrows it').toEqual([])
    const wideValue = columnWith('users_property.value', { max_length: 500 })
    expect(await summarise({ users, change: wideValue, applied: [] })).toEqual([])
    const adoption = { tooLong: undefined }
    expect(await summarise({ users, change: wideEmail, applied: unmigrated, adoption })).toEqual([])
  })

  it('have a moment that no calendar has', async () => {
    const users = [{ name: '0000', created_at: '2026-01-01' }, { deleted_at: '0000-00-00' }]
    expect((await search({ users })).faults).toMatchObject([
      {
        subject: 'users.deleted_at',
        fault: 'is not a date for',
        isBlocking: true,
        isSafe: false,
        sql: "update users set deleted_at = null where deleted_at like '0000%';",
        examples: ['"user 1"'],
      },
    ])
    const adoption = { impossibleMoment: undefined }
    expect(await summarise({ users, adoption }), 'the database has no such moment').toEqual([])
  })

  it('share an id, where nothing keeps it unique', async () => {
    const users = [{ userid: 'one' }, { userid: 'two' }, { userid: 'one' }]
    const expected = [['users.userid belongs to another user too for', ['"user 0"', '"user 2"']]]
    expect(await summarise({ users })).toEqual([])
    for (const useless of [
      [],
      [{ ...index('users', 'ix_userid', 'userid'), is_unique: false }],
      [index('users_property', 'ix_userid', 'userid')],
      [index('users', 'ix_name', 'name')],
    ]) {
      const change = (schema: Schema) => ({
        indexes: [...(withoutIndex('userid')(schema).indexes ?? []), ...useless],
      })
      expect(await summarise({ users, change })).toEqual(expected)
    }
  })
})

describe('rows of users_property', () => {
  const users = [{ userid: 'ada' }]
  const properties = [
    { userid: 'ada', name: 'picture' },
    { userid: 'eve', name: 'phone' },
    { userid: 'bob', name: 'phone' },
    { userid: 'eve', name: 'device' },
  ]

  it('have no user, where no foreign key keeps them from it', async () => {
    expect(await summarise({ users, properties })).toEqual([])
    const [fault, ...others] = (await search({ users, properties, change: () => ({ foreignKeys: [] }) }))
      .faults
    expect(others).toEqual([])
    expect(fault).toMatchObject({
      subject: 'users_property',
      isBlocking: false,
      isSafe: false,
      examples: ['"device"', '"phone"'],
    })
    expect(fault?.sql).toMatch(/^delete from users_property where not exists .*;$/)
    const change = (schema: Schema) => ({
      ...withoutColumn('users_property.userid')(schema),
      foreignKeys: [],
    })
    expect(await summarise({ users, properties, change }), 'without the column').toEqual([])
  })

  it('are named up to ten times', async () => {
    const properties = Array.from({ length: 12 }, (_, at) => ({ userid: 'nobody', name: `name ${at + 10}` }))
    const [fault] = (await search({ properties, change: () => ({ foreignKeys: [] }) })).faults
    expect(fault?.examples?.slice(9)).toEqual(['"name 19"', 'and more'])
  })
})

describe.each(['email', 'username'])('%s of several users', (column) => {
  const having = (...values: (string | null)[]) => values.map((value) => ({ [column]: value }))

  it.each([
    { what: 'case', values: ['ada@x', 'Ada@X'], isBlocking: true },
    { what: 'white space', values: ['ada@x', 'ada @X'], isBlocking: false },
    { what: 'accents', values: ['ada@x', 'ádá @X'], isBlocking: false },
  ])('are the same but for $what', async ({ what, values, isBlocking }) => {
    const others = ['grace@x', 'alan@x', null, null]
    const { faults, names } = await search({ users: having(...values, ...others) })
    expect(faults).toEqual([
      {
        subject: `users.${column}`,
        fault: `is the same, except for ${what}, for several users`,
        consequence: expect.any(String),
        isBlocking,
        isSafe: false,
        examples: [
          values
            .toSorted()
            .map((value) => `"${value}"`)
            .join(' and '),
        ],
      },
    ])
    expect(names).toEqual([...new Set(names)])
  })

  it('are listed once, by what differs least, each group on a line', async () => {
    const users = having('bob@x', 'Bob@x', 'ada@x', 'ADA@x', 'a da@x', 'eve@x')
    expect(await summarise({ users })).toEqual([
      [
        `users.${column} is the same, except for case, for several users`,
        ['"ADA@x" and "ada@x"', '"Bob@x" and "bob@x"'],
      ],
      [
        `users.${column} is the same, except for white space, for several users`,
        ['"ADA@x" and "a da@x" and "ada@x"'],
      ],
    ])
  })

  it('are listed for ten groups', async () => {
    const groups = Array.from({ length: 12 }, (_, at) => `u${String(at).padStart(2, '0')}@x`)
    const users = having(...groups, ...groups.map((name) => name.toUpperCase()))
    const [difference] = (await search({ users })).faults
    expect(difference?.examples).toHaveLength(11)
    expect(difference?.examples?.slice(9)).toEqual(['"U09@X" and "u09@x"', 'and more'])
  })

  it('are read up to a bound, however many are the same', async () => {
    const spellings = Array.from({ length: 64 }, (_, bits) =>
      [...'abcdef'].map((letter, at) => ((bits >> at) & 1 ? letter.toUpperCase() : letter)).join(''),
    )
    const [difference] = (await search({ users: having(...spellings) })).faults
    expect(difference?.examples?.[0]?.split(' and ')).toHaveLength(55)
  })
})
