import { postgres } from '@latchkey/shared/database/postgres/dialect.ts'
import { createQueryable } from '@latchkey/shared/database/queryable.ts'
import { openMigrated } from '@latchkey/shared/database/test/sqlite/open-empty.ts'
import { toAppError } from '@latchkey/shared/database/to-app-error.ts'
import { EXEMPT_TOKEN_PROPERTY, exemptionOf, VALID_FROM_PROPERTY } from '@latchkey/shared/users/user.ts'
import { createUserRepository, type UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Claims } from './claims.ts'
import {
  type BriefStanding,
  createRevocationRepository,
  type RevocationRepository,
} from './revocation-repository.ts'

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

describe('the standing of a token', () => {
  it('is that of its user, with their properties, and of nothing that has ended', async () => {
    await aTokenOf('eve')
    await users.setProperty(ada.sub, 'picture', 'p.png')
    await users.setProperty(ada.sub, 'phone', '1')
    expect(await revocations.findStanding(ada)).toMatchObject({
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

  it('has no user when there is none', async () => {
    const unknown = { ...ada, sub: crypto.randomUUID() }
    expect(await revocations.findStanding(unknown)).toEqual({
      user: undefined,
      refreshedUntil: undefined,
      hasSessionEnded: false,
    })
  })
})

describe('the standings of several tokens', () => {
  /** Tokens of ada, of eve and of nobody, in turn. */
  async function tokens(count: number): Promise<Claims[]> {
    const owners = [ada, await aTokenOf('eve'), { ...ada, sub: crypto.randomUUID() }]
    return Array.from({ length: count }, (_, index) => ({
      ...(owners[index % owners.length] ?? ada),
      jti: `token-${index}`,
      sid: `session-${index}`,
    }))
  }

  /** The names of the statements of `work`, and how many values each was given. */
  async function statementsOf(work: () => Promise<unknown>) {
    const query = vi.spyOn(database.db, 'query')
    try {
      await work()
      return query.mock.calls.map(([{ name }, values]) => ({ name, values }))
    } finally {
      query.mockRestore()
    }
  }

  it.each([1, 2, 4, 5, 16, 17, 64])('are those that each of %i has alone', async (count) => {
    await users.setProperty(ada.sub, 'picture', 'p.png')
    const list = await tokens(count)
    const [first, last] = [list[0] ?? ada, list.at(-1) ?? ada]
    await revocations.endRefreshed(first, at(2_010))
    await revocations.endSession(last, at(2_000), at(5_600))
    const alone = await Promise.all(list.map((claims) => revocations.findStanding(claims)))
    const found = await revocations.findStandings(list)
    const brief = ({ user, ...standing }: BriefStanding) => ({ userid: user?.userid, ...standing })
    expect(found.map(brief)).toEqual(alone.map(brief))
    expect(alone[0]).toMatchObject({ user: { username: 'ada' }, refreshedUntil: at(2_010) })
    expect(alone.at(-1)).toMatchObject({ hasSessionEnded: true })
  })

  it('have the deletion, the role, the valid-from mark and the exempt token of each user', async () => {
    const [ofAda = ada, ofEve = ada, ofNobody = ada] = await tokens(3)
    await users.setRole(ofAda.sub, 'admin')
    await users.setProperty(ofAda.sub, 'picture', 'p.png')
    await users.setProperty(ofAda.sub, VALID_FROM_PROPERTY, '2000')
    await users.setProperty(ofAda.sub, EXEMPT_TOKEN_PROPERTY, exemptionOf(2_000, ofAda.jti))
    await users.softDelete(ofEve.sub)
    const [standingOfAda, standingOfEve, standingOfNobody] = await revocations.findStandings([
      ofAda,
      ofEve,
      ofNobody,
    ])
    expect(standingOfAda?.user).toEqual({
      userid: ofAda.sub,
      role: 'admin',
      deletedAt: null,
      properties: [
        { name: VALID_FROM_PROPERTY, value: '2000' },
        { name: EXEMPT_TOKEN_PROPERTY, value: exemptionOf(2_000, ofAda.jti) },
      ],
    })
    expect(standingOfEve?.user).toMatchObject({ role: null, deletedAt: expect.any(Date), properties: [] })
    expect(standingOfNobody?.user).toBeUndefined()
  })

  it('say nothing of a token whose user is gone, read alone or with others', async () => {
    const gone = await aTokenOf('eve')
    await revocations.endRefreshed(gone, at(2_010))
    await revocations.endSession(gone, at(2_000), at(5_600))
    await database.db.runScript("delete from users where username = 'eve'")
    const nothing = { user: undefined, refreshedUntil: undefined, hasSessionEnded: false }
    expect(await revocations.findStanding(gone)).toEqual(nothing)
    expect((await revocations.findStandings([gone, ada]))[0]).toEqual(nothing)
  })

  it.each([
    { count: 2, length: 4 },
    { count: 4, length: 4 },
    { count: 6, length: 16 },
    { count: 64, length: 64 },
  ])('are read by two statements: $count by those for $length', async ({ count, length }) => {
    const list = await tokens(count)
    const [ofUsers, ofRevocations] = await statementsOf(() => revocations.findStandings(list))
    const last = list.at(-1)?.sub
    expect(ofUsers).toEqual({
      name: `token-users-${length}`,
      values: [...list.map(({ sub }) => sub), ...Array.from({ length: length - count }, () => last)],
    })
    expect(ofRevocations).toMatchObject({
      name: `token-revocations-${length}`,
      values: { length: 2 * length },
    })
  })

  it('are that of one alone, by one statement', async () => {
    const statements = await statementsOf(() => revocations.findStandings([ada]))
    expect(statements.map(({ name }) => name)).toEqual(['token-standing'])
  })

  it('are none for no token, without a statement', async () => {
    let standings: unknown
    const statements = await statementsOf(async () => {
      standings = await revocations.findStandings([])
    })
    expect([standings, statements]).toEqual([[], []])
  })

  it('are not read for more than 64', async () => {
    await expect(revocations.findStandings(await tokens(65))).rejects.toThrow(
      new RangeError('65 tokens are too many for one statement'),
    )
  })
})

describe('a refreshed token', () => {
  it('ends once, at the end of the first grace; another one does not', async () => {
    expect((await revocations.endRefreshed(ada, at(2_010))).user?.username).toBe('ada')
    expect(await revocations.endRefreshed(ada, at(2_020))).toMatchObject({ refreshedUntil: at(2_010) })
    expect(await revocations.findStanding(ada)).toMatchObject({
      refreshedUntil: at(2_010),
      hasSessionEnded: false,
    })
    expect(await revocations.findStanding({ ...ada, jti: 'two' })).toMatchObject({
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

  it('ends and is read by one statement, where the database has that', async () => {
    const texts: string[] = []
    const given: (readonly unknown[])[] = []
    const query = async ({ text }: { text: string }, values: readonly unknown[]) => {
      texts.push(text.replaceAll(/\s+/g, ' '))
      given.push(values)
      return []
    }
    const driver = { query, execute: () => Promise.reject(new Error('A second statement')) }
    const inPostgres = createRevocationRepository(createQueryable(postgres, driver, toAppError))
    await inPostgres.endRefreshed(ada, at(2_010))
    await inPostgres.findStanding(ada)
    const [refresh = '', standing = ''] = texts
    expect(refresh).toMatch(
      /^with refreshed as \(insert into token_revocation .* from users where userid = \$1 and deleted_at is null on conflict \(id\) do nothing\) select /,
    )
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(given).toEqual([
      [ada.sub, hash, hash, at(2_010), at(4_600)],
      [ada.sub, hash, hash],
    ])
    expect(refresh.endsWith(`) ${standing}`)).toBe(true)
  })
})

describe('an ended session', () => {
  it('ends each of its tokens, once, and no other session', async () => {
    await revocations.endSession(ada, at(2_000), at(5_600))
    await revocations.endSession(ada, at(3_000), at(6_600))
    for (const jti of ['one', 'two'])
      expect(await revocations.findStanding({ ...ada, jti })).toMatchObject({
        refreshedUntil: undefined,
        hasSessionEnded: true,
      })
    expect(await revocations.findStanding({ ...ada, sid: 'another' })).toMatchObject({
      hasSessionEnded: false,
    })
    expect(await rows()).toMatchObject([{ revoked_from: at(2_000), expires_at: at(5_600) }])
  })

  it('is told from a refreshed token where a token of an earlier release has one id for both', async () => {
    const { sid: _, ...earlier } = ada
    await revocations.endRefreshed(earlier, at(2_010))
    expect(await revocations.findStanding(earlier)).toMatchObject({
      refreshedUntil: at(2_010),
      hasSessionEnded: false,
    })
    await revocations.endSession(earlier, at(2_000), at(5_600))
    expect(await revocations.findStanding(earlier)).toMatchObject({ hasSessionEnded: true })
  })
})
