import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { describe, expect, it } from 'vitest'
import { createTestDatabase } from '../../test/support/test-database.ts'

async function openUsers() {
  const database = await createTestDatabase()
  return {
    db: database.db,
    users: createUserRepository(database.db),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}
const ADA = { name: 'Ada', email: 'Ada@Example.com', username: 'ada', passwordHash: 'hash', role: 'admin' }

describe('the user repository', () => {
  it.each([
    ['username', 'ADA', true],
    ['username', 'ad\u00e4', false],
  ] as const)(
    'finds a user by its %s without regard to case, but to accents: %s',
    async (field, login, isFound) => {
      await using store = await openUsers()
      await store.users.insert(ADA)
      expect((await store.users.findByLogin(field, login)) !== undefined).toBe(isFound)
    },
  )

  it('does not replace a hash that has changed by then', async () => {
    await using store = await openUsers()
    const userid = await store.users.insert(ADA)
    await store.users.setPassword(userid, 'changed')
    await store.users.replaceHash(userid, 'hash', 'better')
    expect((await store.users.findById(userid))?.passwordHash).toBe('changed')
  })

  it('keeps the time of the last change when it replaces a hash, but not at the next change', async () => {
    await using store = await openUsers()
    const userid = await store.users.insert(ADA)
    await store.users.replaceHash(userid, 'hash', 'better')
    expect(await store.users.findById(userid)).toMatchObject({ passwordHash: 'better', updatedAt: null })
    await store.users.setName(userid, 'Grace')
    expect(await store.users.findById(userid)).toMatchObject({ name: 'Grace', updatedAt: expect.any(Date) })
  })

  it('sets, replaces and removes properties under the lock of the user', async () => {
    await using store = await openUsers()
    const userid = await store.users.insert(ADA)
    const set = (name: string, value: string | null) =>
      store.db.transaction(async (transaction) => {
        const users = createUserRepository(transaction)
        expect(await users.lock(userid)).toBe(true)
        await users.setProperty(userid, name, value)
      })
    for (const [name, value] of [
      ['b', '1'],
      ['a', '2'],
      ['b', '3'],
      ['c', '4'],
      ['c', null],
    ] as const)
      await set(name, value)
    expect((await store.users.findById(userid))?.properties).toEqual([
      { name: 'b', value: '3' },
      { name: 'a', value: '2' },
    ])
  })

  it('keeps the row of a property that changes, and leaves one of two', async () => {
    await using store = await openUsers()
    const userid = await store.users.insert(ADA)
    const id = store.db.toUuidValue(userid)
    const select = { name: 'test-properties', text: 'select id, value from users_property where userid = $1' }
    const insert = {
      name: 'test-add-property',
      text: 'insert into users_property (userid, name, value) values ($1, $2, $3)',
    }
    await store.users.setProperty(userid, 'colour', 'blue')
    const [added] = await store.db.query<{ id: number }>(select, [id])
    for (const value of ['green', 'green']) await store.users.setProperty(userid, 'colour', value)
    expect(await store.db.query(select, [id])).toEqual([{ id: added?.id, value: 'green' }])
    await store.db.execute(insert, [id, 'colour', 'grey'])
    await store.users.setProperty(userid, 'colour', 'red')
    expect(await store.db.query(select, [id])).toEqual([{ id: expect.any(Number), value: 'red' }])
  })

  it('locks no user that is not there', async () => {
    await using store = await openUsers()
    const isLocked = await store.db.transaction((transaction) =>
      createUserRepository(transaction).lock(crypto.randomUUID()),
    )
    expect(isLocked).toBe(false)
  })
})
