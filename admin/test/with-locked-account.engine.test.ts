import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { withLockedAccount } from '../accounts/with-locked-account.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

/** The database, on which `change` runs between the reads before a transaction's lock and the lock. */
function withChangeBeforeLock(db: Database, change: () => Promise<void>): Database {
  const interrupt = (transaction: Queryable): Queryable['execute'] =>
    async function execute(statement, values) {
      if (statement.name === 'user-lock') await change()
      return transaction.execute(statement, values)
    }
  return {
    ...db,
    transaction: (work) =>
      db.transaction((transaction) => work({ ...transaction, execute: interrupt(transaction) })),
  }
}

it('decides on the user as it is once its row is locked', async () => {
  const users = createUserRepository(database.db)
  const userid = await users.insert({ username: 'ada', email: 'ada@example.com', passwordHash: '' })
  const db = withChangeBeforeLock(database.db, async () => void (await users.softDelete(userid)))
  let isDeleted: boolean | undefined
  await withLockedAccount(db, 'ada', async (_users, user) => {
    isDeleted = user.deletedAt !== null
  })
  expect(isDeleted).toBe(true)
})

it('refuses a login that names another user by then', async () => {
  const users = createUserRepository(database.db)
  const userid = await users.insert({ username: 'grace', email: 'grace@example.com', passwordHash: '' })
  const db = withChangeBeforeLock(
    database.db,
    async () => void (await users.setEmail(userid, 'hopper@example.com')),
  )
  const work = async () => expect.unreachable('The account was changed')
  await expect(withLockedAccount(db, 'grace@example.com', work)).rejects.toThrow('No user has')
})
