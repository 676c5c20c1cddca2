import type { SpecifiedColumn } from './schema.ts'

const users = { table: 'users' } as const
const property = { table: 'users_property' } as const

/** The columns of `users` and `users_property`, as the specification of the service lists them. */
export const SPECIFICATION: readonly SpecifiedColumn[] = [
  { ...users, column: 'userid', kind: 'uuid', isIdentifying: true },
  { ...users, column: 'name', kind: 'text', length: 50, isNullable: true },
  { ...users, column: 'email', kind: 'text', length: 120, isNullable: true, isIdentifying: true },
  { ...users, column: 'username', kind: 'text', length: 20, isIdentifying: true },
  { ...users, column: 'password', kind: 'text', length: 40, isIdentifying: true },
  { ...users, column: 'role', kind: 'text', length: 50, isNullable: true },
  { ...users, column: 'created_at', kind: 'moment', isNullable: true },
  { ...users, column: 'updated_at', kind: 'moment', isNullable: true },
  { ...users, column: 'deleted_at', kind: 'moment', isNullable: true },
  { ...property, column: 'id', kind: 'key', isIdentifying: true },
  { ...property, column: 'name', kind: 'text', length: 50, isNullable: true, isIdentifying: true },
  { ...property, column: 'value', kind: 'text', length: 250, isNullable: true, isIdentifying: true },
  { ...property, column: 'userid', kind: 'uuid', isIdentifying: true },
]

/** The columns by which a login finds its user. */
export const LOGIN_COLUMNS = ['email', 'username'] as const

export const isLoginColumn = ({ table, column }: SpecifiedColumn): boolean =>
  table === 'users' && LOGIN_COLUMNS.some((name) => name === column)

/** Tables that Latchkey adds, with columns by which it knows them as its own. */
export const OWN_TABLES: Readonly<Record<string, readonly string[]>> = {
  password_reset: ['id', 'userid', 'token_hash', 'code_hash', 'expires_at'],
  mail_outbox: ['id', 'payload', 'expires_at'],
  token_revocation: ['id', 'revoked_from', 'expires_at'],
  email_change: ['id', 'userid', 'code_hash', 'expires_at'],
  sign_up: ['id', 'email_key', 'code_hash', 'expires_at'],
  audit_event: ['id', 'userid', 'request_id', 'event_count'],
}
