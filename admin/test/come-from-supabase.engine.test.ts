import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import { PHP_HASHES } from '@latchkey/shared/passwords/test/php-hashes.ts'
import { createFactorSealer } from '@latchkey/shared/users/factor-sealer.ts'
import { createIdentityRepository } from '@latchkey/shared/users/identity-repository.ts'
import { isPostgres } from '@latchkey/test-support/engine.ts'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import { createEmptyDatabase, createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { expect, it, vi } from 'vitest'
import { readSnippets } from '../../scripts/docs/snippets.ts'
import { answer, codeAt, factorSettings, post } from '../../services/auth-api/test/support/factors.ts'
import { bearer, codeTo, logIn, startApp } from '../../services/auth-api/test/support/start-app.ts'
import type { AdminContext } from '../admin-context.ts'
import { importUsers } from '../import-users/import-users.ts'

const ROOT = join(import.meta.dirname, '../..')
const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'
const [{ password, hashes }] = PHP_HASHES
const NEW_PASSWORD = 'N3w-p4ssw0rd!'
const USERS = 50

/** The tables of GoTrue, with the columns that matter. */
const GOTRUE = `
  create schema auth;
  create type auth.factor_type as enum ('totp', 'webauthn', 'phone');
  create type auth.factor_status as enum ('unverified', 'verified');
  create table auth.users (
    id uuid primary key, email varchar(255), encrypted_password varchar(255), email_confirmed_at timestamptz,
    raw_app_meta_data jsonb, raw_user_meta_data jsonb, created_at timestamptz, updated_at timestamptz, phone text,
    banned_until timestamptz, deleted_at timestamptz, is_sso_user boolean not null default false,
    is_anonymous boolean not null default false
  );
  create table auth.identities (
    id uuid primary key default gen_random_uuid(), provider_id text not null, user_id uuid not null references auth.users,
    identity_data jsonb not null, provider text not null, unique (provider_id, provider)
  );
  create table auth.mfa_factors (
    id uuid primary key default gen_random_uuid(), user_id uuid not null references auth.users, friendly_name text,
    factor_type auth.factor_type not null, status auth.factor_status not null, created_at timestamptz not null, secret text
  );`

type Kind = 'plain' | 'unconfirmed' | 'banned' | 'google' | 'totp'
const KINDS: readonly Kind[] = ['plain', 'unconfirmed', 'banned', 'google', 'totp']
const kindOf = (index: number): Kind => KINDS[index % KINDS.length] ?? 'plain'
const idOf = (index: number): string =>
  hash('md5', String(index)).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
const emailOf = (index: number): string => `user${index}@example.com`
const metadataOf = (index: number) => ({
  full_name: `Ünser "${index}", ä`,
  bio: 'x'.repeat(300),
  lines: 'a\nb',
})

const rowsOf = (index: number): string => {
  const kind = kindOf(index)
  const isConfirmed = kind !== 'unconfirmed'
  const values = [
    `'${idOf(index)}', '${emailOf(index)}', '${kind === 'google' ? '' : hashes.bcrypt}'`,
    isConfirmed ? "'2024-01-02 03:04:05.678901+00'" : 'null',
    `'${JSON.stringify(metadataOf(index))}', '2024-01-0${1 + (index % 9)} 03:04:05+00'`,
    kind === 'banned' ? "'2100-01-01 00:00:00+00'" : 'null',
  ]
  return `
    insert into auth.users (id, email, encrypted_password, email_confirmed_at, raw_user_meta_data, created_at, banned_until)
      values (${values.join(', ')});
    insert into auth.identities (provider_id, user_id, identity_data, provider)
      values ('${kind === 'google' ? `1076${index}` : idOf(index)}', '${idOf(index)}', '{}', '${kind === 'google' ? 'google' : 'email'}');
    ${kind === 'totp' ? `insert into auth.mfa_factors (user_id, factor_type, status, created_at, secret) values ('${idOf(index)}', 'totp', 'verified', now(), '${SECRET}');` : ''}`
}

const psql = isInstalled('psql', { requiredBy: 'REQUIRE_PROGRAMS' })

it.skipIf(!psql)(
  'fifty users of GoTrue move in by the commands of the page, and log in as they did',
  async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-supabase-'))
    await using supabase = await createEmptyDatabase(isPostgres() ? undefined : 'embedded')
    await supabase.db.runScript(GOTRUE + Array.from({ length: USERS }, (_, index) => rowsOf(index)).join(''))
    const [sql, command] = readSnippets(ROOT, 'docs/how-to/come-from-supabase.md').filter(
      ({ plan }) => plan?.kind === 'run by',
    )
    await writeFile(join(folder.path, 'export.sql'), sql?.text ?? '')
    const environment = { ...process.env, SUPABASE_URL: supabase.url }
    execFileSync('sh', ['-ec', command?.text ?? ''], { cwd: folder.path, env: environment })

    await using database = await createTestDatabase()
    const { db } = database
    const settings = factorSettings({ PASSWORD_HASH_ACCEPTED: 'bcrypt' })
    await using app = await startApp({ database, settings })
    const { secret = new Uint8Array() } = app.config.secondFactor
    const context: AdminContext = {
      db,
      policy: DEFAULT_POLICY,
      hashPassword: async (text) => text,
      acceptedSchemes: ['sha1', 'bcrypt'],
      localNow: Date.now,
      notify: async () => undefined,
    }
    const run = async (isDryRun: boolean): Promise<string> => {
      const lines: string[] = []
      const log = vi.spyOn(console, 'log').mockImplementation((line) => void lines.push(line))
      const sealer = createFactorSealer(secret, undefined)
      await importUsers(context, join(folder.path, 'users.csv'), { isDryRun, sealer }).finally(() =>
        log.mockRestore(),
      )
      return lines.join('\n')
    }
    const counted = await run(true)
    expect(await app.users.findById(idOf(0)), 'a dry run').toBeUndefined()
    expect(counted).toContain(
      'banned: 10, e-mail not confirmed: 10, password bcrypt: 40, password none: 10, ',
    )
    expect(counted).toBe(await run(false).then((text) => text.replace('Imported', 'Would import')))
    expect(await run(false), 'again').toContain(`already there ${USERS}, refused 0`)

    for (let index = 0; index < USERS; index++) {
      const user = await app.users.findById(idOf(index))
      expect(user).toMatchObject({ email: emailOf(index), name: metadataOf(index).full_name })
      expect(user?.createdAt?.toISOString()).toBe(`2024-01-0${1 + (index % 9)}T03:04:05.000Z`)
    }
    const statusOf = async (index: number) => (await logIn(app, emailOf(index), password)).json()
    const expectProfile = async (token: string, index: number): Promise<void> => {
      const profile = await app.server.inject({ url: '/profile', headers: bearer(token) })
      expect(profile.json()).toMatchObject({ userid: idOf(index), metadata: metadataOf(index) })
    }
    await expectProfile((await statusOf(0)).token, 0)
    expect((await app.users.findById(idOf(0)))?.passwordHash, 'by the present scheme').toMatch(
      /^[0-9a-f]{40}$/,
    )
    expect((await statusOf(1)).type).toBe('urn:latchkey:problem:email-unconfirmed')
    expect(await statusOf(2)).toMatchObject({
      type: 'urn:latchkey:problem:account-banned',
      banned_until: '2100-01-01T00:00:00.000Z',
    })
    expect((await statusOf(3)).type).toBe('urn:latchkey:problem:invalid-credentials')
    expect(await createIdentityRepository(db).find('google', '10763')).toMatchObject({ userid: idOf(3) })
    const { challenge } = await statusOf(4)
    await expectProfile((await answer(app, challenge, codeAt(SECRET, Date.now()))).json().token, 4)

    const email = emailOf(1)
    const { token } = (await post(app, '/login/resetrequest', { email })).json()
    await post(app, '/login/confirmcode', { email, token, code: await codeTo(app, email) })
    await post(app, '/login/resetpassword', { email, token, password: NEW_PASSWORD })
    await expectProfile((await logIn(app, email, NEW_PASSWORD)).json().token, 1)
  },
)
