import { execFileSync } from 'node:child_process'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import { PHP_HASHES } from '@latchkey/shared/passwords/test/php-hashes.ts'
import { createIdentityRepository } from '@latchkey/shared/users/identity-repository.ts'
import { findProperty } from '@latchkey/shared/users/user.ts'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import { createEmptyDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { readSnippets } from '../../scripts/docs/snippets.ts'
import { logIn, startApp, type TestApp } from '../../services/auth-api/test/support/start-app.ts'
import { importUsers } from '../import-users/import-users.ts'

const ROOT = join(import.meta.dirname, '../..')
const [{ password, hashes }] = PHP_HASHES
const typeOf = (name: string) => `urn:latchkey:problem:${name}`

let app: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { PASSWORD_HASH_ACCEPTED: 'bcrypt,argon2id' } })
})
afterAll(() => app[Symbol.asyncDispose]())

/** Runs the blocks of a page beside `files`, and imports what they export. */
async function moveIn(page: string, files: Record<string, string>, environment: Record<string, string> = {}) {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-move-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder.path, name), text)
  for (const { plan, language, text } of readSnippets(ROOT, page)) {
    if (plan?.kind !== 'run by') continue
    if (language === 'sql') await writeFile(join(folder.path, 'export.sql'), text)
    else execFileSync('sh', ['-ec', text], { cwd: folder.path, env: { ...process.env, ...environment } })
  }
  const log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  const context = {
    ...{ db: app.database.db, policy: DEFAULT_POLICY, localNow: Date.now },
    ...{ acceptedSchemes: ['bcrypt', 'argon2id'], notify: async () => undefined },
    hashPassword: async (text: string) => text,
  }
  await importUsers(context, join(folder.path, 'users.csv')).finally(() => log.mockRestore())
}

const answerTo = async (email: string) => (await logIn(app, email, password)).json()
const find = async (email: string) => {
  const user = await app.users.findByLogin('email', email)
  if (!user) throw new Error(`${email} was not imported`)
  return user
}

const hasJq = isInstalled('jq', { requiredBy: 'REQUIRE_PROGRAMS' })
const hasPsql = isInstalled('psql', { requiredBy: 'REQUIRE_PROGRAMS' })

it.skipIf(!hasJq)('users of Auth0 move in, with their passwords and bans', async () => {
  const user = (id: number, more: object = {}) => ({
    ...{ user_id: `auth0|${id}`, email: `Auth${id}@example.com`, email_verified: true, name: 'Ada "A"' },
    ...{
      created_at: '2024-01-02T03:04:05.678Z',
      identities: [{ provider: 'auth0', user_id: `${id}` }],
      ...more,
    },
  })
  const google = {
    identities: [{ provider: 'google-oauth2', user_id: '1077' }],
    user_metadata: { theme: 'dark' },
  }
  const users = [user(1), user(2, { blocked: true }), user(3, { email_verified: false }), user(4, google)]
  const passwords = [1, 2, 3].map((id) => ({ email: `auth${id}@example.com`, passwordHash: hashes.bcrypt }))
  const toLines = (rows: object[]) => rows.map((row) => JSON.stringify(row)).join('\n')
  await moveIn('docs/how-to/come-from-auth0.md', {
    'users.json': toLines(users),
    'passwords.json': toLines(passwords),
  })
  expect(await answerTo('auth1@example.com')).toHaveProperty('token')
  expect(await answerTo('auth2@example.com')).toMatchObject({ type: typeOf('account-banned') })
  expect(await answerTo('auth3@example.com')).toMatchObject({ type: typeOf('email-unconfirmed') })
  const { userid } = await find('auth4@example.com')
  expect(await createIdentityRepository(app.database.db).find('google', '1077')).toMatchObject({ userid })
  expect(findProperty(await find('auth1@example.com'), 'auth0_id')).toBe('auth0|1')
  expect((await find('auth1@example.com')).createdAt?.toISOString()).toMatch(/^2024-01-02T03:04:05/)
})

it.skipIf(!hasJq)('users of Firebase move in, and reset their passwords', async () => {
  const user = { createdAt: '1704164645000', passwordHash: 'x==', salt: 'y==', emailVerified: true }
  const google = [{ providerId: 'google.com', rawId: '1078' }]
  const users = [
    { ...user, localId: 'aB1', email: 'fire1@example.com', displayName: 'Ünser' },
    { ...user, localId: 'aB2', email: 'fire2@example.com', disabled: true, providerUserInfo: google },
    { ...user, localId: 'aB3', phoneNumber: '+1' },
  ]
  await moveIn('docs/how-to/come-from-firebase.md', { 'users.json': JSON.stringify({ users }) })
  expect(await find('fire1@example.com')).toMatchObject({ name: 'Ünser', passwordHash: '!' })
  const { userid, ...second } = await find('fire2@example.com')
  expect(findProperty(second, 'latchkey.ban')).toBe('forever import')
  expect(await createIdentityRepository(app.database.db).find('google', '1078')).toMatchObject({ userid })
})

it.skipIf(!hasPsql)('users of Keycloak move in with their ids and argon2', async () => {
  await using keycloak = await createEmptyDatabase()
  const [, , , parameters = '', salt = '', value = ''] = hashes.argon2id.split('$')
  const [memory, passes, lanes] = parameters.split(',').map((each) => each.slice(2))
  const ids = [1, 2, 3].map((id) => `0198fc0c-5a2e-7d41-9c3b-2f6f0a8f3c1${id}`)
  const additionalParameters = {
    hashLength: ['32'],
    memory: [memory],
    type: ['id'],
    version: ['1.3'],
    parallelism: [lanes],
  }
  const data = JSON.stringify({ hashIterations: Number(passes), algorithm: 'argon2', additionalParameters })
  const secret = JSON.stringify({ value: `${value}=`, salt: `${salt}==`, additionalParameters: {} })
  const old = JSON.stringify({
    hashIterations: 210_000,
    algorithm: 'pbkdf2-sha512',
    additionalParameters: {},
  })
  const person = (id: number, enabled: boolean) =>
    `insert into user_entity values ('${ids[id - 1]}', 'key${id}@example.com', 'key${id}', 'Ada', 'L', true, ${enabled}, 'r1', 1704164645678, null);`
  const credential = (id: number, about: string) =>
    `insert into credential values ('c${id}', 'password', '${ids[id - 1]}', '${secret}', '${about}');`
  await keycloak.db.runScript(`
    create table realm (id varchar(36) primary key, name varchar(255));
    create table user_entity (id varchar(36) primary key, email varchar(255), username varchar(255), first_name varchar(255),
      last_name varchar(255), email_verified boolean, enabled boolean, realm_id varchar(255), created_timestamp bigint,
      service_account_client_link varchar(255));
    create table credential (id varchar(36), type varchar(255), user_id varchar(36), secret_data text, credential_data text);
    create table federated_identity (identity_provider varchar(255), user_id varchar(36), federated_user_id varchar(255));
    insert into realm values ('r1', 'my-realm');
    ${person(1, true)}${person(2, false)}${person(3, true)}${credential(1, data)}${credential(2, data)}${credential(3, old)}
    insert into federated_identity values ('google', '${ids[2]}', '1079');`)
  await moveIn('docs/how-to/come-from-keycloak.md', {}, { KEYCLOAK_URL: keycloak.url })
  expect(await answerTo('key1@example.com')).toMatchObject({ data: { userid: ids[0], name: 'Ada L' } })
  expect(await answerTo('key2@example.com')).toMatchObject({ type: typeOf('account-banned') })
  expect(await find('key3@example.com')).toMatchObject({
    userid: ids[2],
    passwordHash: '!',
    username: 'key3',
  })
})
