import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { OWN_TABLES } from './adoption/adoption.ts'

const ROOT = join(import.meta.dirname, '../..')

const USERS = ['shared/users/user-repository.ts', 'shared/users/many-users-repository.ts']

/** What erases a person has SQL about every table with data of one. */
const ERASURE = 'shared/users/erasure.ts'

/** The files with SQL about each table. Other code calls them, or takes a part of a statement from them. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  users: [...USERS, ERASURE],
  users_property: [...USERS, ERASURE],
  user_erasure: [ERASURE],
  user_metadata: ['shared/users/metadata.ts', ERASURE],
  password_reset: ['shared/users/reset-repository.ts', ERASURE],
  email_change: ['shared/users/email-change-repository.ts', ERASURE],
  mailed_code: ['shared/users/mailed-code-repository.ts', ERASURE],
  sign_up: ['services/auth-api/src/features/sign-up/sign-up-repository.ts', ERASURE],
  user_factor: ['shared/users/factor-repository.ts'],
  recovery_code: ['shared/users/factor-repository.ts'],
  user_identity: ['shared/users/identity-repository.ts'],
  identity_login: ['services/auth-api/src/features/identity-providers/login-repository.ts'],
  user_session: [
    'services/auth-api/src/features/sessions/session-repository.ts',
    // The status of an access token says whether its session has ended, and records its first use.
    'services/auth-api/src/tokens/revocation-repository.ts',
    ERASURE,
  ],
  token_revocation: ['services/auth-api/src/tokens/revocation-repository.ts'],
  audit_event: ['shared/audit/audit-repository.ts'],
  mail_outbox: ['shared/mail/outbox/outbox-repository.ts', ERASURE],
  latchkey_installation: ['shared/database/installation.ts'],
}

/** Migrations and the adoption of a database read and change the tables of any program. */
const SCHEMA = /^shared\/database\/(?!installation)/

const withoutComments = (text: string): string => text.replaceAll(/^\s*(\/\/|\/\*|\*).*$/gm, '')

const sources = ['shared', 'admin', 'scripts', 'services/*/src']
  .flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: ROOT }))
  .filter((file) => !/(^|\/)(bench|test|node_modules)\/|\.test\.ts$/.test(file) && !SCHEMA.test(file))
  .map((file) => ({ file, text: withoutComments(readFileSync(join(ROOT, file), 'utf8')) }))

/** Finds SQL, and calls that get the table of their SQL, such as `insertRows`. */
const namesInSql = (table: string): RegExp =>
  new RegExp(`\\b(from|into|update|join) (expired_)?${table}\\b|\\w+\\((\\w+, )?'${table}',`)

it('knows an owner of every table that a migration creates', () => {
  expect(Object.keys(OWNERS).sort()).toEqual(['users', 'users_property', ...Object.keys(OWN_TABLES)].sort())
})

it.each(Object.entries(OWNERS))('SQL about %s stands with its owner only', (table, owners) => {
  const found = sources.filter(({ text }) => namesInSql(table).test(text)).map(({ file }) => file)
  expect(found.sort()).toEqual([...owners].sort())
})
