import { hash, randomUUID } from 'node:crypto'
import { type DisposableTempDir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import { PHP_HASHES } from '@latchkey/shared/passwords/test/php-hashes.ts'
import { createManyUsersRepository } from '@latchkey/shared/users/many-users-repository.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  deleteAccount,
  restoreAccount,
  revokeTokens,
  setAccountPassword,
} from '../accounts/change-account.ts'
import { createAccount } from '../accounts/create-account.ts'
import type { AdminContext } from '../admin-context.ts'
import { importUsers } from '../import-users/import-users.ts'

const PASSWORD = 'c0rrect-Horse!'
const SHA1 = hash('sha1', PASSWORD)
const NOW = Date.UTC(2026, 0, 2)

let database: TestDatabase
let folder: DisposableTempDir
let context: AdminContext

beforeAll(async () => {
  database = await createTestDatabase()
  folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-admin-'))
  context = {
    db: database.db,
    policy: DEFAULT_POLICY,
    hashPassword: async (password) => hash('sha1', password),
    acceptedSchemes: ['sha1', 'argon2id'],
    localNow: () => NOW,
    notify: async () => undefined,
  }
})
afterAll(async () => {
  await database[Symbol.asyncDispose]()
  await folder.remove()
})

const users = () => createUserRepository(database.db)
const find = (username: string) => users().findByLogin('username', username)

async function aUser(username: string): Promise<string> {
  return users().insert({ username, email: `${username}@example.com`, passwordHash: SHA1, role: 'user' })
}

describe('an account', () => {
  it('has a username of at most 20 characters, whatever their length in bytes', async () => {
    const fields = { email: 'fox@example.com', name: '', role: '', password: PASSWORD }
    await createAccount(context, { ...fields, username: '🦊'.repeat(20) })
    expect(await find('🦊'.repeat(20))).toBeDefined()
    await expect(createAccount(context, { ...fields, username: '🦊'.repeat(21) })).rejects.toThrow('username')
  })
})

describe('an import', () => {
  async function importCsv(name: string, lines: readonly string[]) {
    const path = join(folder.path, name)
    await writeFile(path, lines.join('\n'))
    const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
    const error = await importUsers(context, path).catch((cause: unknown) => cause)
    const summary = String(log.mock.calls[0]?.[0])
    log.mockRestore()
    return { error, summary, report: await readFile(`${path}.refused.csv`, 'utf8').catch(() => '') }
  }

  it('refuses lines whose username or e-mail is in use, and stores the others', async () => {
    await aUser('holder')
    await aUser('gone')
    await deleteAccount(context, 'gone')
    const { summary, report } = await importCsv('mixed.csv', [
      'username,email,password_hash',
      `ok1,ok1@x.org,${SHA1}`,
      `OK1,other@x.org,${SHA1}`,
      `HOLDER,else@x.org,${SHA1}`,
      `else,Holder@example.com,${SHA1}`,
      `gone,gone@x.org,${SHA1}`,
      `ok2,ok2@x.org,${SHA1}`,
    ])
    expect(summary).toBe('Imported 2, already there 0, refused 4.')
    expect(report.trim().split('\n').slice(1)).toEqual([
      '3,"username","is also that of line 2"',
      '4,"username","belongs to another user"',
      '5,"email","belongs to another user"',
      '6,"username","belongs to a deleted user"',
    ])
    expect(await find('ok2')).toBeDefined()
  })

  it('recognises an earlier line of the same file across batches', async () => {
    const rows = Array.from({ length: 1_100 }, (_, index) => `b${index},b${index}@x.org,${SHA1}`)
    const header = 'username,email,password_hash'
    const { summary, report } = await importCsv('batches.csv', [header, ...rows, `B0,new@x.org,${SHA1}`])
    expect(summary).toBe('Imported 1100, already there 0, refused 1.')
    expect(report).toContain('1102,"username","belongs to another user"')
  })

  it('recognises on a second run the users that are in, also those without an e-mail', async () => {
    const lines = ['username,email,password_hash', `again,again@x.org,${SHA1}`, `bare,,${SHA1}`]
    await importCsv('again.csv', lines)
    const { error, summary } = await importCsv('again.csv', lines)
    expect(error).toBeUndefined()
    expect(summary).toBe('Imported 0, already there 2, refused 0.')
  })

  it('keeps ids, times and states, and refuses what is taken or there twice, by column and reason', async () => {
    const id = (last: number) => `0198fc0c-5a2e-7d41-9c3b-2f6f0a8f3${String(last).padStart(3, '0')}`
    const lines = [
      'userid,username,email,password_hash,created_at,deleted_at,identities,metadata',
      `${id(1)},keep1,keep1@x.org,!,2020-01-02T03:04:05Z,,google:k1,"{""a"":1}"`,
      `${id(1)},keep2,keep2@x.org,!,,,,`,
      `${id(3)},keep3,keep3@x.org,!,,,google:k1,`,
      `${id(4)},keep4,keep4@x.org,!,,2021-01-02,google:k4,`,
      `,,keep5@x.org,!,,,,`,
    ]
    const { summary, report } = await importCsv('keep.csv', lines)
    expect(summary).toBe('Imported 3, already there 0, refused 2.')
    expect(report.trim().split('\n').slice(1)).toEqual([
      '3,"userid","is also that of line 2"',
      '4,"identities","is also that of line 2"',
    ])
    expect(await find('keep1')).toMatchObject({ userid: id(1), createdAt: new Date('2020-01-02T03:04:05Z') })
    expect((await find('keep4'))?.deletedAt).toEqual(new Date('2021-01-02'))
    const again = await importCsv('keep.csv', lines)
    expect(again.summary).toBe('Imported 0, already there 3, refused 2.')
    const taken = await importCsv('taken.csv', [
      'userid,username,email,password_hash,identities',
      `${id(1)},other1,other1@x.org,!,`,
      `${id(6)},keep1,keep1@x.org,!,`,
      `${id(7)},other7,other7@x.org,!,google:k1`,
      `${id(8)},other8,other8@x.org,!,google:k8`,
    ])
    expect(taken.summary).toBe('Imported 1, already there 0, refused 3.')
    expect(taken.report.trim().split('\n').slice(1)).toEqual([
      '2,"userid","belongs to another user"',
      '3,"username","belongs to another user"',
      '3,"email","belongs to another user"',
      expect.stringMatching(
        /^4,"row","was refused by the database: the username, e-mail, userid or an identity is in use/,
      ),
    ])
    expect(await find('other7'), 'nothing half stored').toBeUndefined()
  })

  it('stores the rest of a batch of which the database refuses one line', async () => {
    // The database compares ß and ss as equal, or does not: the lines must agree with it either way.
    const { error, summary } = await importCsv('collation.csv', [
      'username,email,password_hash',
      `weiss,w1@x.org,${SHA1}`,
      `weiß,w2@x.org,${SHA1}`,
    ])
    const hasBoth = error === undefined
    expect(summary).toBe(`Imported ${hasBoth ? 2 : 1}, already there 0, refused ${hasBoth ? 0 : 1}.`)
    expect(await find('weiss')).toBeDefined()
  })
})

it('counts users by the kind of their hash, and those without an e-mail', async () => {
  await using old = await createEmptyDatabase()
  expect(await createManyUsersRepository(old.db).countByForm()).toEqual([])
  await old.db.runScript('create table users (id integer, email varchar(9))')
  expect(await createManyUsersRepository(old.db).countByForm(), 'of another product').toEqual([])
  await old.db.runScript(
    'drop table users; create table users (userid integer primary key, email varchar(9), password varchar(255))',
  )
  const insert = {
    name: 'test-count',
    text: 'insert into users (userid, email, password) values ($1, $2, $3)',
  }
  const hashes = Object.values(PHP_HASHES[0].hashes)
  const stored = [...hashes, SHA1.toUpperCase(), '', null, hash('md5', PASSWORD), '!']
  for (const [at, password] of stored.entries())
    await old.db.execute(insert, [at, at < 2 ? null : `${at}@x.org`, password])
  const counts = (await createManyUsersRepository(old.db).countByForm()).map(({ form, users }) => [
    form,
    users,
  ])
  expect(Object.fromEntries(counts)).toEqual({
    ...{ sha1: 2, bcrypt: 1, argon2i: 1, argon2id: 1, 'no password': 2, 'no e-mail': 2 },
    ...{ 'MD5, which no login verifies': 1, 'another hash, which no login verifies': 1 },
  })
})

describe('the codes that a thief has had mailed', () => {
  async function openCodesOf(userid: string): Promise<number> {
    const counts = ['password_reset', 'email_change'].map(async (table) => {
      const text = `select id from ${table} where userid = $1 and used_at is null`
      const rows = await database.db.query({ name: `test-open-${table}`, text }, [
        database.db.toUuidValue(userid),
      ])
      return rows.length
    })
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }

  /** A reset whose code is confirmed, so that only its token is asked for, and a change of e-mail. */
  async function requestCodes(userid: string): Promise<void> {
    const { db } = database
    const insert = (table: string, columns: string[], values: (string | Date)[]) => {
      const placeholders = columns.map((_, index) => `$${index + 3}`)
      const text = `insert into ${table} (id, userid, ${columns.join(', ')}) values ($1, $2, ${placeholders.join(', ')})`
      const ids = [db.toUuidValue(randomUUID()), db.toUuidValue(userid)]
      return db.execute({ name: `test-insert-${table}`, text }, [...ids, ...values])
    }
    const [email, secret, later] = ['thief@example.com', '0'.repeat(64), new Date(NOW + 600_000)]
    const reset = ['email', 'token_hash', 'code_hash', 'expires_at', 'confirmed_at']
    await insert('password_reset', reset, [email, secret, secret, later, new Date(NOW)])
    await insert('email_change', ['email', 'code_hash', 'expires_at'], [email, secret, later])
  }

  it.each([
    { by: 'setPassword', takeBack: (login: string) => setAccountPassword(context, login, 'N3w-p4ssw0rd!') },
    { by: 'delete', takeBack: (login: string) => deleteAccount(context, login) },
    { by: 'restore', takeBack: (login: string) => restoreAccount(context, login), isDeleted: true },
    { by: 'revoke', takeBack: (login: string) => revokeTokens(context, login) },
  ])('are ended by $by', async ({ by, takeBack, isDeleted }) => {
    const userid = await aUser(`taken-${by}`)
    const other = await aUser(`other-${by}`)
    if (isDeleted) await users().softDelete(userid)
    for (const each of [userid, other]) await requestCodes(each)
    await takeBack(`taken-${by}`)
    expect([await openCodesOf(userid), await openCodesOf(other)]).toEqual([0, 2])
  })
})
