import { randomBytes, randomUUID } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createReadInstallation } from '@latchkey/shared/database/installation.ts'
import { ping } from '@latchkey/shared/database/ping.ts'
import { forgetPersons } from '@latchkey/shared/maintenance/forget-persons.ts'
import { createPurge } from '@latchkey/shared/maintenance/purge-expired.ts'
import { createEmailChangeRepository } from '@latchkey/shared/users/email-change-repository.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import { createErasureRepository, eraseUser, requireOtherAdmin } from '@latchkey/shared/users/erasure.ts'
import { createFactorRepository, SEALED } from '@latchkey/shared/users/factor-repository.ts'
import { createIdentityRepository } from '@latchkey/shared/users/identity-repository.ts'
import { createMailedCodeRepository } from '@latchkey/shared/users/mailed-code-repository.ts'
import { createManyUsersRepository } from '@latchkey/shared/users/many-users-repository.ts'
import { createMetadataRepository } from '@latchkey/shared/users/metadata.ts'
import { createResetRepository } from '@latchkey/shared/users/reset-repository.ts'
import { createSealedTextRepository, FIRST } from '@latchkey/shared/users/sealed-text-repository.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { countRows, createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createProfileRepository } from '../src/features/account/profile-repository.ts'
import { createLoginRepository } from '../src/features/identity-providers/login-repository.ts'
import { createSessionRepository } from '../src/features/sessions/session-repository.ts'
import { createSignUpRepository } from '../src/features/sign-up/sign-up-repository.ts'
import { type Claims, successorOf } from '../src/tokens/claims.ts'
import { createRevocationRepository, sessionIdOf } from '../src/tokens/revocation-repository.ts'
import { type RecordingDatabase, recording } from './support/recording-database.ts'

const ROOT = join(import.meta.dirname, '../../..')
const NOW = Date.now()
const at = (seconds: number) => new Date(NOW + seconds * 1000)
const NO_REFRESH = { amr: undefined, authTime: new Date(0), refresh: undefined }
const aHash = () => randomBytes(32).toString('hex')

let database: RecordingDatabase
beforeAll(async () => {
  database = recording(await createTestDatabase())
})
afterAll(() => database[Symbol.asyncDispose]())

async function aUser(db: Database, given: { username?: string; passwordHash?: string } = {}) {
  const { username = `u-${randomUUID().slice(0, 8)}`, passwordHash = 'hash' } = given
  const email = `${username}@Example.com`
  const user = { name: 'Zoë 🗝', email, username, passwordHash, role: 'admin' }
  return { ...user, userid: await createUserRepository(db).insert(user) }
}

const aCode = (seconds = 600) => ({ id: randomUUID(), codeHash: aHash(), expiresAt: at(seconds) })

interface Case {
  /** The statements that `run` has to send. */
  sends: readonly string[]
  run: (db: Database) => Promise<void>
}

/** Each statement that auth-api, mailer-worker and the admin classes send, with real values. */
const CASES: Record<string, Case> = {
  'a user is stored and found by each of its names, without regard to case, but to accents': {
    sends: ['user-insert', 'user-by-id', 'user-by-email', 'user-by-username'],
    async run(db) {
      const users = createUserRepository(db)
      const { userid, ...user } = await aUser(db, { username: 'adä' })
      expect(await users.findById(userid)).toMatchObject({ ...user, userid, updatedAt: null, properties: [] })
      expect((await users.findByLogin('username', 'ADÄ'))?.userid).toBe(userid)
      expect((await users.findByLogin('email', 'ADÄ@EXAMPLE.COM'))?.userid).toBe(userid)
      expect(await users.findByLogin('username', 'ada')).toBeUndefined()
      const taken = (given: object) =>
        users.insert({ ...user, ...given }).catch((error: { code: string }) => error.code)
      expect(await taken({ username: 'another' })).toBe('email_taken')
      expect(await taken({ email: 'another@example.com' })).toBe('username_taken')
    },
  },
  'a user is changed, which sets the time of the last change': {
    sends: [
      'user-set-name',
      'user-set-email',
      'user-set-username',
      'user-set-role',
      'user-set-password',
      'user-touch',
    ],
    async run(db) {
      const users = createUserRepository(db)
      const changes: [change: (userid: string) => Promise<unknown>, after: object][] = [
        [(userid) => users.setName(userid, 'Grace'), { name: 'Grace' }],
        [(userid) => users.setEmail(userid, `${userid}@x.org`), { email: expect.stringContaining('@x.org') }],
        [
          (userid) => users.setUsername(userid, `É${userid.slice(0, 8)}`),
          { username: expect.stringMatching(/^É/) },
        ],
        [(userid) => users.setRole(userid, null), { role: null }],
        [(userid) => users.setPassword(userid, 'other'), { passwordHash: 'other' }],
        [(userid) => users.touch(userid), {}],
      ]
      for (const [change, after] of changes) {
        const { userid, email: _email, ...user } = await aUser(db)
        expect(await change(userid)).toBe(1)
        expect(await change(userid), 'without a difference').toBe(1)
        expect(await users.findById(userid)).toMatchObject({ ...user, ...after, updatedAt: expect.any(Date) })
      }
      const [one, other] = [await aUser(db), await aUser(db)]
      await expect(users.setEmail(one.userid, other.email.toUpperCase())).rejects.toMatchObject({
        code: 'email_taken',
      })
    },
  },
  'a hash is replaced by a better one, which keeps that time, unless the password has changed by then': {
    sends: ['user-replace-hash'],
    async run(db) {
      const users = createUserRepository(db)
      const { userid } = await aUser(db)
      await users.replaceHash(userid, 'hash', 'better')
      expect(await users.findById(userid)).toMatchObject({ passwordHash: 'better', updatedAt: null })
      await users.setPassword(userid, 'changed')
      await users.replaceHash(userid, 'better', 'best')
      expect((await users.findById(userid))?.passwordHash).toBe('changed')
      expect((await users.findById(userid))?.updatedAt).toEqual(expect.any(Date))
    },
  },
  'a user is deleted and restored': {
    sends: ['user-soft-delete', 'user-restore'],
    async run(db) {
      const users = createUserRepository(db)
      const { userid, username } = await aUser(db)
      expect(await users.softDelete(userid)).toBe(1)
      const { deletedAt } = (await users.findByLogin('username', username)) ?? {}
      expect(Math.abs(Number(deletedAt) - Date.now()), 'in UTC').toBeLessThan(600_000)
      expect(await users.restore(userid)).toBe(1)
      expect((await users.findById(userid))?.deletedAt).toBeNull()
    },
  },
  'the metadata of a user is stored, replaced, and found as it was sent': {
    sends: ['metadata-find', 'metadata-store'],
    async run(db) {
      const { userid } = await aUser(db)
      const metadata = createMetadataRepository(db)
      expect(await metadata.find(userid)).toEqual({})
      for (const given of [{ a: [1.5, null, '\u2028 🗝 \\'] }, { 'ключ "': { b: 'x'.repeat(8_000) } }]) {
        await metadata.store(userid, given)
        expect(await metadata.find(userid)).toEqual(given)
      }
    },
  },
  'properties are set, replaced in their rows and removed under the lock of the user': {
    sends: ['user-lock', 'property-set', 'property-insert', 'property-delete'],
    async run(db) {
      const { userid } = await aUser(db)
      const id = db.toUuidValue(userid)
      const set = (name: string, value: string | null) =>
        db.transaction(async (transaction) => {
          const users = createUserRepository(transaction)
          expect(await users.lock(userid)).toBe(true)
          await users.setProperty(userid, name, value)
        })
      const rows = () =>
        db.query<{ id: number; value: string }>(
          { name: 'test-properties', text: 'select id, name, value from users_property where userid = $1' },
          [id],
        )
      await set('b', '1')
      const [added] = await rows()
      // MySQL would count no row for a value that stays.
      for (const value of ['2', '2']) await set('b', value)
      expect(await rows()).toEqual([{ id: added?.id, name: 'b', value: '2' }])
      for (const value of ['4', null]) await set('c', value)
      await set('a', '🗝')
      const text = "insert into users_property (userid, name, value) values ($1, 'b', 'of another program')"
      await db.execute({ name: 'test-add-property', text }, [id])
      await set('b', '3')
      const { properties } = (await createUserRepository(db).findById(userid)) ?? {}
      expect(properties).toEqual([
        { name: 'a', value: '🗝' },
        { name: 'b', value: '3' },
      ])
      const nobody = await db.transaction((each) => createUserRepository(each).lock(randomUUID()))
      expect(nobody, 'a user who is not there').toBe(false)
    },
  },
  'users are listed by a text that stands for itself': {
    sends: ['user-list', 'user-any'],
    async run(db) {
      for (const username of ['per%cent', 'under_score']) await aUser(db, { username })
      const list = async (search: string, limit = 10) =>
        (await createManyUsersRepository(db).list(search, limit)).map(({ username }) => username)
      expect(await list('%')).toEqual(['per%cent'])
      expect(await list('R_S')).toEqual(['under_score'])
      expect(await list('!')).toEqual([])
      expect(await list('', 1)).toHaveLength(1)
      expect(await createManyUsersRepository(db).hasAny()).toBe(true)
    },
  },
  'who has a username or an e-mail is found for an import, which stores many users': {
    sends: [
      'user-holders-username',
      'user-holders-email',
      'user-holders-userid',
      'insert-users',
      'insert-users_property',
    ],
    async run(db) {
      const repository = createManyUsersRepository(db)
      const row = (username: string) => ({
        ...{ line: 1, userid: randomUUID(), username, email: null, name: 'Ü 🦊', role: null },
        ...{ passwordHash: 'x', properties: [{ name: 'note', value: 'two\nlines' }] },
        ...{ createdAt: at(-9_000), deletedAt: undefined },
      })
      const rows = [row('import-1'), row('import-2')]
      await db.transaction((transaction) => createManyUsersRepository(transaction).insertAll(rows))
      const ids = [rows[0]?.userid ?? '', randomUUID()]
      expect(await repository.findHolders('userid', ids)).toMatchObject([{ userid: ids[0] }])
      const found = await repository.findHolders('username', ['IMPORT-1', 'nobody'])
      expect(found).toEqual([
        { userid: rows[0]?.userid, username: 'import-1', email: null, isDeleted: false },
      ])
      const { email, userid } = await aUser(db)
      await createUserRepository(db).softDelete(userid)
      expect(await repository.findHolders('email', [email.toUpperCase()])).toMatchObject([
        { userid, isDeleted: true },
      ])
      expect(await createUserRepository(db).findById(rows[1]?.userid ?? '')).toMatchObject({
        ...{ name: 'Ü 🦊', properties: [{ name: 'note', value: 'two\nlines' }] },
      })
    },
  },
  'users are counted by the kinds of their hashes': {
    sends: ['count-accounts-columns', 'count-accounts'],
    async run(db) {
      const countOf = async (form: string) =>
        (await createManyUsersRepository(db).countByForm()).find((each) => each.form === form)?.users ?? 0
      const before = await countOf('argon2id')
      await aUser(db, { passwordHash: `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(66)}` })
      expect(await countOf('argon2id')).toBe(before + 1)
    },
  },
  'a reset is confirmed once and used once, within its time and its attempts': {
    sends: ['insert', 'newest', 'count-attempt', 'confirm', 'count-hash', 'use'].map(
      (each) => `password_reset-${each}`,
    ),
    async run(db) {
      const resets = createResetRepository(db)
      const reset = { ...aCode(), userid: randomUUID(), email: `${randomUUID()}@x.org`, tokenHash: aHash() }
      await resets.insert({ ...aCode(), ...reset, id: randomUUID() }, at(-1))
      await resets.insert(reset, at(0))
      expect(await resets.find(reset.email.toUpperCase()), 'the newest').toMatchObject([reset])
      const { id } = reset
      const asks = (ask: typeof resets.countAttempt, seconds = 1) => ask(id, 2, at(seconds))
      expect(await asks(resets.countNewPassword), 'before it is confirmed').toBe(false)
      expect(await resets.use(id, at(1)), 'before it is confirmed').toBe(false)
      expect([await asks(resets.countAttempt, 600), await asks(resets.countAttempt)]).toEqual([false, true])
      const confirmed = aHash()
      expect([
        await resets.confirm(id, at(600), confirmed),
        await resets.confirm(id, at(1), confirmed),
        await resets.confirm(id, at(1), confirmed),
      ]).toEqual([false, true, false])
      expect(await asks(resets.countAttempt), 'once it is confirmed').toBe(false)
      expect(await resets.find(reset.email)).toMatchObject([{ tokenHash: confirmed, confirmedAt: at(1) }])
      expect([
        await asks(resets.countNewPassword, 600),
        await asks(resets.countNewPassword),
        await asks(resets.countNewPassword),
      ]).toEqual([false, true, false])
      expect([
        await resets.use(id, at(600)),
        await resets.use(id, at(2)),
        await resets.use(id, at(2)),
      ]).toEqual([false, true, false])
      expect(await resets.find(reset.email)).toMatchObject([{ usedAt: at(2) }])
    },
  },
  'a change of e-mail is used once, within its time and its attempts, and shown while it is pending': {
    sends: [
      ...['insert', 'newest', 'count-attempt', 'use'].map((each) => `email_change-${each}`),
      'profile-by-id',
      'email_change-pending',
    ],
    async run(db) {
      const changes = createEmailChangeRepository(db)
      const { userid } = await aUser(db)
      const change = { ...aCode(), userid, email: 'ü@example.com', begunUnder: 'password' }
      await changes.insert({ ...change, id: randomUUID(), email: 'older@example.com' }, at(-1))
      await changes.insert(change, at(0))
      expect(await changes.find(userid)).toEqual([change])
      const pending = async (seconds: number) => [
        (await createProfileRepository(db, 2).find(userid, at(seconds)))?.pendingEmail,
        (await createEmailChangeRepository(db).findPending(userid, at(seconds)))?.email,
      ]
      expect(await pending(1)).toEqual(['ü@example.com', 'ü@example.com'])
      expect(await pending(600)).toEqual([undefined, undefined])
      const { id } = change
      const count = (seconds: number) => changes.countAttempt(id, 2, at(seconds))
      expect([await count(600), await count(1), await count(1), await count(1)]).toEqual([
        ...[false, true, true, false],
      ])
      expect((await createProfileRepository(db, 2).find(userid, at(1)))?.pendingEmail).not.toBe(change.email)
      expect([
        await changes.use(id, at(600)),
        await changes.use(id, at(1)),
        await changes.use(id, at(1)),
      ]).toEqual([false, true, false])
      expect(await changes.find(userid)).toMatchObject([{ email: 'older@example.com' }])
    },
  },
  'an identity belongs to one user, and is found by the exact subject': {
    sends: ['insert', 'find', 'of-user', 'use', 'delete', 'delete-all'].map((each) => `identity-${each}`),
    async run(db) {
      const identities = createIdentityRepository(db)
      const [ada, grace] = [await aUser(db), await aUser(db)]
      const subject = `Sub-${randomUUID()}`
      const wanted = { userid: ada.userid, provider: 'google', subject, email: 'É@x.org' }
      const id = await identities.insert(wanted, at(-1))
      const found = { ...wanted, id, createdAt: at(-1), lastUsedAt: undefined }
      expect(await identities.find('google', subject)).toEqual(found)
      for (const [provider, other] of [
        ['work', subject],
        ['google', subject.toLowerCase()],
      ] as const)
        expect(await identities.find(provider, other), `${provider} ${other}`).toBeUndefined()
      const again = identities.insert({ ...wanted, userid: grace.userid }, at(0))
      await expect(again).rejects.toMatchObject({ code: 'identity_taken' })
      expect(await identities.recordUse(id, undefined, at(0))).toBe(true)
      expect(await identities.list(ada.userid)).toEqual([{ ...found, email: undefined, lastUsedAt: at(0) }])
      expect(await identities.delete(id, grace.userid)).toBe(false)
      expect(await identities.delete(id, ada.userid)).toBe(true)
      await identities.insert(wanted, at(0))
      expect(await identities.deleteAll(ada.userid)).toBe(1)
    },
  },
  'a login with a provider is used once, within its time and its attempts': {
    sends: ['insert', 'find', 'set-code', 'count-attempt', 'use'].map((each) => `identity_login-${each}`),
    async run(db) {
      const logins = createLoginRepository(db)
      const wanted = { ...aCode(), tokenHash: aHash(), content: 'sealed' }
      await logins.insert(wanted, at(0))
      const changed = { codeHash: aHash(), content: 'again', expiresAt: at(900) }
      expect(await logins.setCode(wanted.id, changed)).toBe(true)
      expect(await logins.find(wanted.id)).toEqual([{ ...wanted, ...changed }])
      const count = (seconds: number) => logins.countAttempt(wanted.id, 1, at(seconds))
      expect([await count(900), await count(1), await count(1)]).toEqual([false, true, false])
      const use = (seconds: number) => logins.use(wanted.id, at(seconds))
      expect([await use(900), await use(1), await use(1)]).toEqual([false, true, false])
    },
  },
  'a sign-up is used once, within its time and its attempts': {
    sends: ['insert', 'find', 'count-attempt', 'use'].map((each) => `sign_up-${each}`),
    async run(db) {
      const signUps = createSignUpRepository(db)
      const email = `É${randomUUID()}@x.org`
      const wanted = { email, username: 'ada', name: undefined, language: 'pt', passwordHash: 'x' } as const
      const [older, newer] = [aHash(), aHash()].map((tokenHash) => ({ ...aCode(), ...wanted, tokenHash }))
      if (older) await signUps.insert(older, at(-1))
      if (newer) await signUps.insert(newer, at(0))
      expect(await signUps.find(email.toLowerCase()), 'both').toEqual([newer, older])
      const id = newer?.id ?? ''
      const count = (seconds: number) => signUps.countAttempt(id, 1, at(seconds))
      expect([await count(600), await count(1), await count(1)]).toEqual([false, true, false])
      expect([
        await signUps.use(id, at(600)),
        await signUps.use(id, at(1)),
        await signUps.use(id, at(1)),
      ]).toEqual([false, true, false])
      expect(await signUps.find(email)).toEqual([older])
    },
  },
  'a mailed code is used once, within its time and its attempts, and for its purpose only': {
    sends: ['insert', 'find-login', 'count-attempt', 'use'].map((each) => `mailed_code-${each}`),
    async run(db) {
      const codes = createMailedCodeRepository(db, 'login')
      const email = `é${randomUUID()}@x.org`
      const wanted = { userid: randomUUID(), email, content: undefined }
      const [older, newer] = [aHash(), aHash()].map((tokenHash) => ({ ...aCode(), ...wanted, tokenHash }))
      if (older) await codes.insert(older, at(-1))
      if (newer) await codes.insert(newer, at(0))
      expect(await codes.find(email.toUpperCase()), 'both').toEqual([newer, older])
      expect(await createMailedCodeRepository(db, 'invitation').find(email)).toEqual([])
      const id = newer?.id ?? ''
      const count = (seconds: number) => codes.countAttempt(id, 1, at(seconds))
      expect([await count(600), await count(1), await count(1)]).toEqual([false, true, false])
      expect([await codes.use(id, at(600)), await codes.use(id, at(1)), await codes.use(id, at(1))]).toEqual([
        false,
        true,
        false,
      ])
      expect(await codes.find(email)).toEqual([older])
    },
  },
  'what was begun for a user is ended, and for nobody else': {
    sends: ['password_reset-end-all', 'mailed_code-end-all', 'email_change-end-all', 'factor-delete-pending'],
    async run(db) {
      const begin = async () => {
        const userid = randomUUID()
        const email = `${userid}@x.org`
        await createResetRepository(db).insert({ ...aCode(), userid, email, tokenHash: aHash() }, at(0))
        await createEmailChangeRepository(db).insert({ ...aCode(), userid, email, begunUnder: 'x' }, at(0))
        await createMailedCodeRepository(db, 'login').insert(
          { ...aCode(), userid, email, tokenHash: aHash() },
          at(0),
        )
        const factor = { id: randomUUID(), userid, kind: 'totp', name: undefined, data: 'x' } as const
        await createFactorRepository(db).insert(factor, at(0))
        return userid
      }
      const openOf = async (userid: string) => [
        (await createResetRepository(db).find(`${userid}@x.org`)).filter(({ usedAt }) => !usedAt).length,
        (await createEmailChangeRepository(db).find(userid)).length,
        (await createFactorRepository(db).find(userid)).length,
      ]
      const [user, other] = [await begin(), await begin()]
      await endCodes(db, user, at(1))
      expect([await openOf(user), await openOf(other)]).toEqual([
        [0, 0, 0],
        [1, 1, 1],
      ])
    },
  },
  'a factor is confirmed once, used with a greater counter each time, named and deleted by its owner': {
    sends: [...['insert', 'of-user', 'confirm', 'use', 'rename', 'delete', 'use-passkey', 'count-users']].map(
      (each) => `factor-${each}`,
    ),
    async run(db) {
      const factors = createFactorRepository(db)
      const userid = randomUUID()
      const factor = { id: randomUUID(), userid, kind: 'totp', name: undefined, data: 'sealed' } as const
      const { id } = factor
      await factors.insert({ ...factor, begunUnder: 'x' }, at(0))
      const before = await factors.countUsers()
      expect(await factors.use(id, 5, at(1)), 'before it is confirmed').toBe(false)
      expect(await factors.rename(id, userid, 'Phone')).toBe(false)
      expect([await factors.confirm(id, 5, at(1)), await factors.confirm(id, 5, at(1))]).toEqual([
        true,
        false,
      ])
      expect(await factors.countUsers()).toBe(before + 1)
      // Greater than a number of 32 bits.
      const greater = 2 ** 40
      expect([
        await factors.use(id, 5, at(2)),
        await factors.use(id, greater, at(2)),
        await factors.use(id, greater, at(2)),
      ]).toEqual([false, true, false])
      // MySQL would count no row for a name that stays.
      for (const name of ['Ü 🗝', 'Ü 🗝']) expect(await factors.rename(id, userid, name)).toBe(true)
      expect(await factors.rename(id, randomUUID(), 'Mine')).toBe(false)
      const times = { createdAt: at(0), confirmedAt: at(1), lastUsedAt: at(2) }
      const { userid: _userid, ...stored } = factor
      expect(await factors.find(userid)).toEqual([
        { ...stored, ...times, name: 'Ü 🗝', lastCounter: greater, begunUnder: 'x' },
      ])
      for (const _ of [1, 2])
        expect(await factors.usePasskey(id, { counter: 2 ** 32 - 1, data: 'b' }, at(3))).toBe(true)
      expect(await factors.find(userid)).toMatchObject([{ data: 'b', lastCounter: 2 ** 32 - 1 }])
      expect([
        await factors.delete(id, randomUUID()),
        await factors.delete(id, userid),
        await factors.delete(id, userid),
      ]).toEqual([false, true, false])
    },
  },
  'recovery codes are replaced, used once each, and end with the factors': {
    sends: [
      ...['insert-recovery_code', 'recovery-code-of-user', 'recovery-code-delete'],
      ...['recovery-code-delete-all', 'factor-delete-all'],
    ],
    async run(db) {
      const factors = createFactorRepository(db)
      const [userid, other] = [randomUUID(), randomUUID()]
      const codes = () => Array.from({ length: 10 }, () => ({ id: randomUUID(), hash: aHash() }))
      const [former, current] = [codes(), codes()]
      for (const each of [former, current]) await factors.replaceCodes(userid, each, at(0))
      await factors.replaceCodes(other, former, at(0))
      const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
      expect((await factors.findCodes(userid)).toSorted(byId)).toEqual(current.toSorted(byId))
      const id = current[0]?.id ?? ''
      expect([await factors.useCode(id), await factors.useCode(id)]).toEqual([true, false])
      expect(await factors.findCodes(userid)).toHaveLength(9)
      await factors.deleteAll(userid)
      expect([await factors.findCodes(userid), (await factors.findCodes(other)).length]).toEqual([[], 10])
    },
  },
  'sealed texts are read in batches, and replaced unless they have changed': {
    sends: ['user_factor-sealed', 'user_factor-reseal', 'recovery_code-sealed', 'recovery_code-reseal'],
    async run(db) {
      const userid = randomUUID()
      const factor = { id: randomUUID(), userid, kind: 'totp', name: undefined, data: 'sealed' } as const
      await createFactorRepository(db).insert(factor, at(0))
      await createFactorRepository(db).replaceCodes(userid, [{ id: randomUUID(), hash: 'sealed' }], at(0))
      for (const column of SEALED) {
        const texts = createSealedTextRepository(db, column)
        const [text] = (await texts.findAfter(FIRST)).filter(({ sealed }) => sealed === 'sealed')
        if (!text) throw new Error(`No text of ${column.find.name}`)
        expect([await texts.replace(text, 'anew'), await texts.replace(text, 'anew')]).toEqual([true, false])
        expect((await texts.findAfter(FIRST)).filter(({ id }) => id === text.id)).toEqual([
          { id: text.id, sealed: 'anew' },
        ])
        expect((await texts.findAfter(text.id)).filter(({ id }) => id <= text.id)).toEqual([])
      }
    },
  },
  'a token has its status: its user, its successor, and the end of its session': {
    sends: ['token-status', 'token-refresh', 'token-end-predecessor', 'session-end'],
    async run(db) {
      const tokens = createRevocationRepository(db)
      const { userid } = await aUser(db)
      const claims = { sub: userid.toUpperCase(), jti: randomUUID(), sid: randomUUID() } as Claims
      const isNew = { replacedFrom: undefined, predecessorUntil: undefined, isSessionRevoked: false }
      const refresh = (of: Claims, seconds: number) =>
        db.transaction((each) => createRevocationRepository(each).storeRefresh(of, at(seconds)))
      expect(await refresh(claims, 100)).toMatchObject({ ...isNew, user: { userid } })
      expect(await refresh(claims, 200), 'again').toMatchObject({ replacedFrom: at(100) })
      const successor = { ...claims, jti: successorOf(claims.jti) }
      expect(await tokens.findStatus(successor)).toMatchObject({ ...isNew, predecessorUntil: at(100) })
      for (const seconds of [50, 60]) await tokens.endPredecessor(successor, at(seconds))
      expect(await tokens.findStatus(claims), 'the earlier end').toMatchObject({ replacedFrom: at(50) })
      expect(await tokens.findStatus(successor)).toMatchObject({ predecessorUntil: undefined })
      for (const seconds of [1, 2]) await tokens.revokeSession(sessionIdOf(claims), at(seconds), at(3_600))
      expect(await tokens.findStatus(claims)).toMatchObject({ isSessionRevoked: true })
      const text = 'select revoked_from as at from token_revocation where id = $1'
      const find = { name: 'test-session-end', text }
      expect(await db.query(find, [sessionIdOf(claims)]), 'the first end').toEqual([{ at: at(1) }])
      const another = { ...claims, jti: randomUUID(), sid: randomUUID() }
      expect(await tokens.findStatus(another)).toMatchObject(isNew)
      await createUserRepository(db).softDelete(userid)
      await refresh(another, 100)
      expect(await tokens.findStatus(another), 'of a deleted user').toMatchObject(isNew)
    },
  },
  'a challenge is used once': {
    sends: ['challenge-use'],
    async run(db) {
      const jti = randomUUID()
      const use = () =>
        db.transaction((transaction) => createRevocationRepository(transaction).useOnce(jti, at(0), at(300)))
      expect(await use()).toBe(true)
      expect(await use().catch(() => false)).toBe(false)
    },
  },
  'sessions are stored, renewed in their rows, listed and found until they end': {
    sends: ['user_session-store', 'user_session-list', 'user_session-find'],
    async run(db) {
      const sessions = createSessionRepository(db)
      const userid = randomUUID()
      const aSession = (seconds: number) => ({
        ...{ id: aHash(), userid, jti: randomUUID(), validFrom: 4_000_000_000, createdAt: at(0) },
        ...{ amr: ['otp', 'mfa'], authTime: at(0), refresh: undefined },
        ...{
          refreshedAt: at(seconds),
          expiresAt: at(seconds + 100),
          address: '2001:db8:1:2::',
          agent: 'a browser',
        },
      })
      const [first, second, third] = [aSession(1), aSession(2), aSession(3)]
      for (const each of [first, second, third]) await sessions.store(each)
      const renewed = { ...first, jti: randomUUID(), refreshedAt: at(4), expiresAt: at(150), agent: 'curl' }
      await sessions.store(renewed)
      expect(await sessions.list(userid, second.id, at(10))).toEqual([second, renewed, third])
      expect(await sessions.list(userid, second.id, at(102))).toEqual([renewed, third])
      await createRevocationRepository(db).revokeSession(third.id, at(5), at(1_000))
      expect(await sessions.list(userid, '', at(102))).toEqual([renewed])
      const find = (id: string, seconds: number) => sessions.find(userid, id, at(seconds))
      expect([await find(first.id, 149), await find(first.id, 150), await find(third.id, 10)]).toEqual([
        renewed,
        undefined,
        undefined,
      ])
    },
  },
  'a refresh token is exchanged, its use recorded once, and it ends with its session; an access token leaves it':
    {
      sends: [
        'user_session-find-lasting',
        'user_session-exchange',
        'session-record-use',
        'session-end',
        'session-end-refresh',
      ],
      async run(db) {
        const sessions = createSessionRepository(db)
        const revocations = createRevocationRepository(db)
        const [first, next] = [aHash(), aHash()]
        const refresh = {
          hash: first,
          salt: 'salt',
          form: 'cookie',
          usedAt: at(0),
          previousUsedAt: at(0),
        } as const
        const user = { userid: randomUUID(), jti: randomUUID(), validFrom: 4_000_000_000 }
        const origin = { address: '192.0.2.1', agent: 'a browser' }
        const times = { createdAt: at(0), authTime: at(0), refreshedAt: at(0), expiresAt: at(1_000) }
        const session = { id: aHash(), ...user, ...origin, ...times, amr: ['otp', 'mfa'], refresh }
        const found = () => sessions.findLasting(session.id)
        await sessions.store(session)
        expect(await found()).toEqual(session)
        const later = { ...session, jti: randomUUID(), expiresAt: at(100), authTime: at(50), amr: undefined }
        await sessions.store({ ...later, refresh: undefined })
        expect(await found()).toEqual({ ...later, expiresAt: at(1_000) })
        const exchanged = { ...later, expiresAt: at(2_000), refresh: { ...refresh, hash: next } }
        expect(await sessions.exchange(exchanged, first, at(60))).toBe(true)
        expect(await sessions.exchange(exchanged, first, at(61)), 'the first one again').toBe(false)
        const unused = { ...exchanged, refresh: { ...exchanged.refresh, usedAt: undefined } }
        expect(await found()).toEqual(unused)
        expect(await sessions.exchange(exchanged, next, at(62)), 'a repeat').toBe(true)
        expect(await found()).toEqual(unused)
        for (const [hash, seconds] of [
          [first, 63],
          [next, 64],
          [next, 65],
        ] as const)
          await revocations.recordRefreshUse(session.id, hash, at(seconds))
        expect((await found())?.refresh).toMatchObject({ usedAt: at(64), previousUsedAt: at(0) })
        expect(await sessions.exchange({ ...exchanged, refresh }, next, at(66))).toBe(true)
        expect((await found())?.refresh).toMatchObject({ usedAt: undefined, previousUsedAt: at(64) })
        await revocations.revokeSession(session.id, at(70), at(3_000))
        expect(await found()).toBeUndefined()
        expect(await sessions.exchange(exchanged, first, at(71)), 'after its end').toBe(false)
      },
    },
  'the audit trail has the events of a user, the newest first; what no database can hold is cut': {
    sends: ['insert-audit_event', 'audit-newest', 'audit-since'],
    async run(db) {
      const audit = createAuditRepository(db)
      const userid = randomUUID()
      const name = 'login.refused'
      const many = Array.from({ length: 70 }, (_, count) => ({ name, userid, at: at(0), count }) as const)
      const long = { address: 'é'.repeat(200), reason: 'r'.repeat(200), requestId: randomUUID() }
      await audit.insert([...many, { ...long, name: 'limit.reached', userid, at: at(0.001) }])
      const [newest, ...others] = await audit.findNewest(userid, 100)
      const cut = { ...long, address: 'é'.repeat(64), reason: 'r'.repeat(100) }
      expect(newest).toEqual({ ...cut, name: 'limit.reached', userid, count: 1, at: at(0.001) })
      expect(others.map(({ count }) => count)).toEqual(Array.from({ length: 70 }, (_, n) => 69 - n))
      expect(await audit.findNewest(userid, 1)).toHaveLength(1)
      expect(await audit.findNewest(randomUUID(), 10)).toEqual([])
      const isSince = (seconds: number) => audit.hasSince(userid, name, at(seconds))
      expect([await isSince(-0.001), await isSince(0)]).toEqual([true, false])
    },
  },
  'a person is erased at its time, once, and the audit trail forgets who it was': {
    sends: [
      ...['schedule', 'find', 'due', 'cancel', 'record', 'other-admin'].map((name) => `erasure-${name}`),
      ...['find-emails', 'user', 'properties', 'metadata', 'sessions', 'email-changes', 'resets'].map(
        (name) => `erase-${name}`,
      ),
      ...['erase-mailed-codes', 'erase-mailed-codes-of-email', 'erase-resets-of-email'],
      ...['erase-sign-ups', 'erase-mails', 'audit-persons', 'audit-forget-persons'],
    ],
    async run(db) {
      const { userid, email } = await aUser(db)
      const user = (await createUserRepository(db).findById(userid)) ?? ada()
      const erasures = createErasureRepository(db)
      const isDue = async (seconds: number) => (await erasures.findDue(at(seconds))).includes(userid)
      await erasures.schedule(userid, at(5))
      await erasures.schedule(userid, at(10))
      expect([await isDue(9), await isDue(10)]).toEqual([false, true])
      await erasures.cancel(userid)
      expect([await erasures.find(userid), await isDue(10)]).toEqual([undefined, false])
      await requireOtherAdmin(db, { ...user, role: 'user' })
      await aUser(db)
      await requireOtherAdmin(db, user)
      const audit = createAuditRepository(db)
      const event = {
        name: 'account.banned',
        userid,
        reason: 'Ada',
        at: at(0),
        address: '192.0.2.7',
      } as const
      await audit.insert([event])
      await createEmailChangeRepository(db).insert({ ...aCode(), userid, email, begunUnder: 'x' }, at(0))
      await erasures.schedule(userid, at(10))
      const erase = () => db.transaction((transaction) => eraseUser(transaction, user, at(11)))
      expect([await erase(), await erase()]).toEqual([true, false])
      expect(await erasures.find(userid)).toEqual({ dueAt: at(10), erasedAt: at(11) })
      await erasures.cancel(userid)
      expect(await erasures.find(userid), 'what has taken place').toBeDefined()
      await forgetPersons(db, new AbortController().signal)
      expect(await audit.findNewest(userid, 10)).toEqual([])
      expect(await countRows(db, "audit_event where reason = 'Ada'")).toBe(0)
    },
  },
  'the database says its time, and the name of the installation': {
    sends: ['database-ping', 'installation-read'],
    async run(db) {
      const { now, busy } = await ping(db)
      expect(busy).toBeUndefined()
      expect(Math.abs(Number(now) - Date.now()), 'in UTC').toBeLessThan(600_000)
      expect(await createReadInstallation(db)()).toMatch(/^\w+$/)
    },
  },
  'rows whose time is over are found, counted and deleted': {
    sends: [
      'password_reset',
      'email_change',
      'token_revocation',
      'sign_up',
      'identity_login',
      'mailed_code',
      'user_session',
      'audit_event',
    ].flatMap((table) => [`${table}-due`, `${table}-purge`, `${table}-oldest`]),
    async run(db) {
      const days = (count: number) => at(-count * 86_400)
      const over = { ...aCode(), expiresAt: days(100) }
      const email = `${randomUUID()}@x.org`
      const [userid, id] = [randomUUID(), aHash()]
      await createResetRepository(db).insert({ ...over, userid, email, tokenHash: aHash() }, days(101))
      await createEmailChangeRepository(db).insert({ ...over, userid, email, begunUnder: 'x' }, days(101))
      const login = { ...over, userid, email, tokenHash: aHash() }
      await createMailedCodeRepository(db, 'login').insert(login, days(101))
      const wanted = { email, username: 'ada', name: undefined, language: 'en', passwordHash: 'x' } as const
      await createSignUpRepository(db).insert({ ...over, ...wanted, tokenHash: aHash() }, days(101))
      await createLoginRepository(db).insert({ ...over, tokenHash: aHash(), content: 'sealed' }, days(101))
      await createRevocationRepository(db).revokeSession(id, days(101), days(100))
      const times = { createdAt: days(101), refreshedAt: days(101), expiresAt: days(100) }
      const session = {
        id,
        userid,
        jti: 'x',
        validFrom: 0,
        address: '192.0.2.1',
        agent: '',
        ...times,
        ...NO_REFRESH,
      }
      await createSessionRepository(db).store(session)
      // Admins can look up a request for a day, and an event for AUDIT_DAYS.
      const kept = { ...aCode(), expiresAt: days(23 / 24) }
      await createResetRepository(db).insert({ ...kept, userid, email, tokenHash: aHash() }, days(1))
      await createEmailChangeRepository(db).insert({ ...kept, userid, email, begunUnder: 'x' }, days(1))
      const events = [days(100), days(89)].map(
        (moment) => ({ name: 'login.refused', userid, at: moment }) as const,
      )
      await createAuditRepository(db).insert(events)
      const registry = new Registry()
      const purge = createPurge({ db, registry, auditDays: 90, localNow: Date.now })
      const read = async () =>
        [...(await registry.metrics()).matchAll(/overdue_seconds\{table="\w+"\} (\S+)/g)].map(([, value]) =>
          Number(value),
        )
      const before = await read()
      expect(before).toHaveLength(8)
      for (const overdue of before) expect(overdue).toBeGreaterThan(800_000)
      await purge(new AbortController().signal)
      expect(await read()).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
      expect(await countRows(db, "user_session where jti = 'x'")).toBe(0)
      expect(await createResetRepository(db).find(email)).toMatchObject([{ id: kept.id }])
      expect(await createEmailChangeRepository(db).find(userid)).toMatchObject([{ id: kept.id }])
      expect(await createAuditRepository(db).findNewest(userid, 10)).toMatchObject([{ at: days(89) }])
    },
  },
}

it.each(Object.entries(CASES))('%s', async (_, { sends, run }) => {
  database.sent = []
  await run(database.db)
  expect(database.names()).toEqual(expect.arrayContaining([...sends]))
})

/** These have tests of their own, for each engine: the outbox, migrations, locks, and what a database must be. */
const ELSEWHERE = /^shared\/(mail|database)\//

it('there is a case for every statement that the source declares', () => {
  const files = ['shared', 'admin', 'services/*/src'].flatMap((folder) =>
    globSync(`${folder}/**/*.ts`, {
      cwd: ROOT,
      exclude: (name) => /^(test|node_modules)$|\.test\.ts$/.test(name),
    }),
  )
  const declared = files
    .filter((file) => !ELSEWHERE.test(file))
    .flatMap((file) => [
      ...readFileSync(join(ROOT, file), 'utf8').matchAll(/name: (['`])([^'`\n]+)\1,\s*text:/g),
    ])
    .map(([, , name = '']) => name)
  expect(declared.length).toBeGreaterThan(60)
  const sent = Object.values(CASES).flatMap(({ sends }) => sends)
  const isSent = (name: string) => {
    const pattern = new RegExp(`^${name.replaceAll(/\$\{\w+\}/g, '\\w+')}$`)
    return sent.some((each) => pattern.test(each))
  }
  expect(declared.filter((name) => !isSent(name))).toEqual([])
})
