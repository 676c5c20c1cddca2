import { openMigrated } from '@latchkey/shared/database/test/sqlite/open-empty.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createProfileRepository, type ProfileRepository } from './profile-repository.ts'

const at = (seconds: number) => new Date(1_700_000_000_000 + seconds * 1000)
const PHONE = { name: 'phone', value: '1' }
const PICTURE = { name: 'picture', value: 'p.png' }

let database: Awaited<ReturnType<typeof openMigrated>>
let profiles: ProfileRepository
let userid: string
beforeAll(async () => {
  database = await openMigrated()
  await database.db.runScript(
    'create table email_change (id, userid, email, created_at timestamp, expires_at timestamp, used_at timestamp)',
  )
  const users = createUserRepository(database.db)
  userid = await users.insert({ username: 'ada', email: 'ada@example.com', passwordHash: 'x' })
  await users.insert({ username: 'eve', email: 'eve@example.com', passwordHash: 'x' })
  for (const { name, value } of [PHONE, PICTURE]) await users.setProperty(userid, name, value)
  profiles = createProfileRepository(database.db)
})
afterAll(() => database[Symbol.asyncDispose]())

const change = (
  email: string,
  given: { of?: string; createdAt?: number; usedAt?: number; id?: string } = {},
) => {
  const { of = userid, createdAt = 0, usedAt, id = '1' } = given
  const values = [id, of, email, at(createdAt), at(600), usedAt === undefined ? null : at(usedAt)]
  return database.db.execute(
    { name: 'test-change', text: 'insert into email_change values ($1, $2, $3, $4, $5, $6)' },
    values,
  )
}
const pendingAt = async (seconds: number) => (await profiles.find(userid, at(seconds)))?.pendingEmail

it('finds a user with the properties in their order, and no pending e-mail', async () => {
  expect(await profiles.find(userid, at(0))).toMatchObject({
    user: { userid, username: 'ada', email: 'ada@example.com', properties: [PHONE, PICTURE] },
    pendingEmail: undefined,
  })
})

it('finds nothing for a user who does not exist', async () => {
  expect(await profiles.find(crypto.randomUUID(), at(0))).toBeUndefined()
})

it('finds the newest pending e-mail of the user, until it expires', async () => {
  await change('of-another@example.com', { of: crypto.randomUUID(), createdAt: 9 })
  await change('used@example.com', { createdAt: 8, usedAt: 8 })
  expect(await pendingAt(10)).toBeUndefined()
  await change('new@example.com', { createdAt: 5, id: '2' })
  await change('old@example.com', { createdAt: 4, id: '3' })
  await change('as-new@example.com', { createdAt: 5, id: '1' })
  expect(await pendingAt(599.999)).toBe('new@example.com')
  expect(await pendingAt(600)).toBeUndefined()
})
