import { describe, expect, it } from 'vitest'
import { mysqlAdoption } from '../mysql/adoption.ts'
import { columnWith, givenBy, index, withoutIndex } from '../test/specified-schema.ts'
import { openEmpty } from '../test/sqlite/open-empty.ts'
import type { Adoption, Schema } from './adoption.ts'
import { findRowFaults } from './find-row-faults.ts'

/** The rules of MySQL, in words of SQLite: the rows that they find are read from a real table. */
const ADOPTION: Adoption = {
  ...mysqlAdoption,
  fold: (column) => `lower(${column})`,
  impossibleMoment: (column) => `${column} like '0000%'`,
}

const TABLE =
  'create table users (userid, name, email, username, password, role, created_at, updated_at, deleted_at);'

interface Situation {
  users: readonly Readonly<Record<string, string | null>>[]
  change?: (schema: Schema) => Partial<Schema>
  isMigrated?: boolean
}

/** The faults of these rows. */
async function search({ users, change = () => ({}), isMigrated = true }: Situation) {
  await using database = await openEmpty()
  const { db } = database
  await db.runScript(TABLE)
  for (const [at, user] of users.entries()) {
    const row = { userid: `id ${at}`, email: `${at}@example.com`, username: `user ${at}`, ...user }
    const columns = Object.keys(row)
    const text = `insert into users (${columns}) values (${columns.map((_, at) => `$${at + 1}`)})`
    await db.execute({ name: 'test-insert', text }, Object.values(row))
  }
  return await findRowFaults(db, { ...givenBy({ isMigrated, change }), adoption: ADOPTION })
}

/** Each problem with its examples. */
const summarise = async (situation: Situation) =>
  (await search(situation)).map(({ problem, examples }) => [problem, examples])

const nullable = (name: string) => columnWith(name, { is_nullable: true })
const wideEmail = columnWith('users.email', { max_length: 200 })

describe('rows of users', () => {
  it('are as specified', async () => {
    const users = [{ password: 'x', name: null, created_at: '2026-01-01' }, { email: null }, { email: null }]
    expect(await summarise({ users, change: wideEmail, isMigrated: false })).toEqual([])
  })

  it('have no value where one is required, in a column that can be null', async () => {
    const users = [{ password: null, name: null }, { username: null, password: 'x' }, { password: null }]
    expect(await summarise({ users, change: nullable('users.password') })).toEqual([
      ['users.password is null for', ['"user 0"', '"user 2"']],
    ])
    expect(await summarise({ users, change: nullable('users.username') })).toEqual([
      ['users.username is null for', ['"1@example.com"']],
    ])
  })

  it('are listed up to ten, with what a terminal would not show', async () => {
    const users = Array.from({ length: 11 }, (_, at) => ({
      username: `u${String(at).padStart(2, '0')}\u0007`,
    }))
    const [all] = await search({ users: users.slice(1), change: nullable('users.password') })
    expect(all?.examples).toHaveLength(10)
    const [more] = await search({ users, change: nullable('users.password') })
    expect(more?.examples?.[0]).toBe('"u00\\x07"')
    expect(more?.examples?.slice(9)).toEqual(['"u09\\x07"', 'and more'])
  })

  it('are longer than a migration leaves them', async () => {
    const users = [{ email: 'e'.repeat(120) }, { email: 'f'.repeat(121), password: 'p'.repeat(60) }]
    const expected = [['users.email is longer than 120 characters for', [`"${'f'.repeat(121)}"`]]]
    expect(await summarise({ users, change: wideEmail, isMigrated: false })).toEqual(expected)
    const unlimited = columnWith('users.email', { max_length: null })
    expect(await summarise({ users, change: unlimited, isMigrated: false })).toEqual(expected)
    expect(await summarise({ users, change: wideEmail }), 'none is pending').toEqual([])
    const widePassword = columnWith('users.password', { max_length: 60 })
    expect(await summarise({ users, change: widePassword, isMigrated: false }), 'widened').toEqual([])
  })

  it('have a moment that no calendar has', async () => {
    const users = [{ created_at: '2026-01-01' }, { deleted_at: '0000-00-00' }]
    expect(await search({ users })).toMatchObject([
      {
        problem: 'users.deleted_at is not a date for',
        consequence: expect.stringContaining(
          "update users set deleted_at = null where deleted_at like '0000%';",
        ),
        isBlocking: true,
        examples: ['"user 1"'],
      },
    ])
  })

  it('share an id, where nothing keeps it unique', async () => {
    const users = [{ userid: 'one' }, { userid: 'two' }, { userid: 'one' }]
    const change = (schema: Schema) => ({
      indexes: [
        ...(withoutIndex('userid')(schema).indexes ?? []),
        index('users_property', 'ix_userid', 'userid'),
      ],
    })
    expect(await summarise({ users })).toEqual([])
    expect(await summarise({ users, change })).toEqual([
      ['users.userid belongs to another user too for', ['"user 0"', '"user 2"']],
    ])
  })

  it.each(['email', 'username'])(
    'have a %s that differs from that of another only by case',
    async (column) => {
      const users = ['bob@x', 'Bob@x', 'ada@x', 'ADA@x', 'a da@x', 'ádá@x', null].map((value) => ({
        [column]: value,
      }))
      expect(await summarise({ users })).toEqual([
        [
          `users.${column} is the same, except for case, for several users`,
          ['"ADA@x"', '"ada@x"', '"Bob@x"', '"bob@x"'],
        ],
      ])
    },
  )
})
