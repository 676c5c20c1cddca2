import { openMigrated } from '@latchkey/shared/database/test/sqlite/open-empty.ts'
import { createUserRepository, type UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Claims } from './claims.ts'
import { createRevocationRepository, type RevocationRepository } from './revocation-repository.ts'

const at = (seconds: number) => new Date(seconds * 1000)

let database: Awaited<ReturnType<typeof openMigrated>>
let users: UserRepository
let revocations: RevocationRepository
let ada: Claims
beforeAll(async () => {
  database = await openMigrated()
  await database.db.runScript(
    'create table token_revocation (id primary key, revoked_from timestamp, expires_at timestamp)',
  )
  users = createUserRepository(database.db)
  revocations = createRevocationRepository(database.db)
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(async () => {
  await database.db.runScript('delete from token_revocation; delete from users_property; delete from users')
  ada = await aTokenOf('ada')
})

async function aTokenOf(username: string, { jti = 'one', sid = 'session' } = {}): Promise<Claims> {
  const userid = await users.insert({ username, passwordHash: 'x' })
  const times = { iat: 1_000, nbf: 1_000, exp: 4_600 }
  return { iss: 'latchkey', sub: userid, ...times, jti, sid, data: { userid, name: '', role: 'user' } }
}

const rows = () =>
  database.db.query<{ id: string; revoked_from: Date; expires_at: Date }>({
    name: 'test-rows',
    text: 'select id, revoked_from, expires_at from token_revocation',
  })

describe('the status of a token', () => {
  it('is that of its user, with their properties, and of nothing that has ended', async () => {
    await aTokenOf('eve')
    await users.setProperty(ada.sub, 'picture', 'p.png')
    await users.setProperty(ada.sub, 'phone', '1')
    expect(await revocations.findStatus(ada)).toMatchObject({
      user: {
        userid: ada.sub,
        username: 'ada',
        properties: [
          { name: 'picture', value: 'p.png' },
          { name: 'phone', value: '1' },
        ],
      },
      refreshedUntil: undefined,
      hasSessionEnded: false,
    })
  })

  it('has no user when there is none, whatever has ended', async () => {
    const unknown = { ...ada, sub: crypto.randomUUID() }
    await revocations.endSession(unknown, at(2_000), at(5_600))
    expect(await revocations.findStatus(unknown)).toEqual({
      user: undefined,
      refreshedUntil: undefined,
      hasSessionEnded: false,
    })
  })
})

describe('a refreshed token', () => {
  it('ends once, at the end of the first grace; another one does not', async () => {
    expect((await revocations.endRefreshed(ada, at(2_010))).user?.username).toBe('ada')
    expect(await revocations.endRefreshed(ada, at(2_020))).toMatchObject({ refreshedUntil: at(2_010) })
    expect(await revocations.findStatus(ada)).toMatchObject({
      refreshedUntil: at(2_010),
      hasSessionEnded: false,
    })
    expect(await revocations.findStatus({ ...ada, jti: 'two' })).toMatchObject({
      refreshedUntil: undefined,
      hasSessionEnded: false,
    })
    expect(await rows()).toEqual([
      { id: expect.stringMatching(/^[0-9a-f]{64}$/), revoked_from: at(2_010), expires_at: at(4_600) },
    ])
  })

  it('does not end for a user who is deleted or gone', async () => {
    await database.db.runScript("update users set deleted_at = '2026-01-01'")
    expect((await revocations.endRefreshed(ada, at(2_010))).user?.deletedAt).toEqual(expect.any(Date))
    expect((await revocations.endRefreshed({ ...ada, sub: 'nobody' }, at(2_010))).user).toBeUndefined()
    expect(await rows()).toEqual([])
  })
})

describe('an ended session', () => {
  it('ends each of its tokens, once, and no other session', async () => {
    await revocations.endSession(ada, at(2_000), at(5_600))
    await revocations.endSession(ada, at(3_000), at(6_600))
    for (const jti of ['one', 'two'])
      expect(await revocations.findStatus({ ...ada, jti })).toMatchObject({
        refreshedUntil: undefined,
        hasSessionEnded: true,
      })
    expect(await revocations.findStatus({ ...ada, sid: 'another' })).toMatchObject({
      hasSessionEnded: false,
    })
    expect(await rows()).toMatchObject([{ revoked_from: at(2_000), expires_at: at(5_600) }])
  })

  it('is told from a refreshed token where a token of an earlier release has one id for both', async () => {
    const { sid: _, ...earlier } = ada
    await revocations.endRefreshed(earlier, at(2_010))
    expect(await revocations.findStatus(earlier)).toMatchObject({
      refreshedUntil: at(2_010),
      hasSessionEnded: false,
    })
    await revocations.endSession(earlier, at(2_000), at(5_600))
    expect(await revocations.findStatus(earlier)).toMatchObject({ hasSessionEnded: true })
  })
})
