/** The tables of a database, as its catalog describes them. */
export interface Schema {
  tables: readonly Table[]
  columns: readonly Column[]
  indexes: readonly Index[]
}

/** MySQL has no booleans. */
type Flag = boolean | number

export interface Table {
  table_name: string
  /** False for a view. */
  is_table: Flag
  /** True if a failed transaction leaves no trace in it. */
  is_transactional: Flag
  /** True if changes of its rows reach every node of a cluster. */
  is_replicated: Flag
}

export interface Column {
  table_name: string
  column_name: string
  data_type: string
  /** The type with its length, as a statement names it. */
  full_type: string
  /** The length in characters, or bytes for binary types; null where the type has no limit. */
  max_length: number | null
  is_nullable: Flag
  /** True if a row that does not name the column gets a value other than null. */
  has_default: Flag
  /** True if each update of a row sets the column, by itself or by a trigger that a migration creates. */
  is_set_on_update: Flag
  /** The default and the comment, as a new definition of the column repeats them; empty where it need not. */
  kept_clauses: string
  /** Null where the column has no text, or where the whole database has one character set. */
  collation_name: string | null
}

export interface Index {
  table_name: string
  is_unique: Flag
  /** The column, or an expression of it; several are separated by commas. */
  key_columns: string
}

/** The kind of value that a column has. */
export type Kind = 'uuid' | 'text' | 'hash' | 'moment' | 'key'

/** One column of the specification. */
export interface SpecifiedColumn {
  readonly table: string
  readonly column: string
  readonly kind: Kind
  /** The length in characters. */
  readonly length?: number
  readonly isNullable?: boolean
  /** The event at which the database writes a value to it; `update` includes the insert. */
  readonly setBy?: 'insert' | 'update'
  /** A table without it belongs to another product. */
  readonly isIdentifying?: boolean
}

const users = { table: 'users' } as const
const property = { table: 'users_property' } as const

/** The columns of `users` and `users_property`, as the specification of the service lists them. */
export const SPECIFICATION: readonly SpecifiedColumn[] = [
  { ...users, column: 'userid', kind: 'uuid', isIdentifying: true },
  { ...users, column: 'name', kind: 'text', length: 50, isNullable: true },
  { ...users, column: 'email', kind: 'text', length: 120, isNullable: true, isIdentifying: true },
  { ...users, column: 'username', kind: 'text', length: 20, isIdentifying: true },
  { ...users, column: 'password', kind: 'hash', length: 40, isIdentifying: true },
  { ...users, column: 'role', kind: 'text', length: 50, isNullable: true },
  { ...users, column: 'created_at', kind: 'moment', isNullable: true, setBy: 'insert' },
  { ...users, column: 'updated_at', kind: 'moment', isNullable: true, setBy: 'update' },
  { ...users, column: 'deleted_at', kind: 'moment', isNullable: true },
  { ...property, column: 'id', kind: 'key', isIdentifying: true, setBy: 'insert' },
  { ...property, column: 'name', kind: 'text', length: 50, isNullable: true, isIdentifying: true },
  { ...property, column: 'value', kind: 'text', length: 250, isNullable: true, isIdentifying: true },
  { ...property, column: 'userid', kind: 'uuid', isIdentifying: true },
]

/** Tables that Latchkey adds, with columns by which it knows them as its own. */
export const OWN_TABLES: Readonly<Record<string, readonly string[]>> = {
  password_reset: ['id', 'userid', 'token_hash', 'code_hash', 'expires_at'],
  mail_outbox: ['id', 'payload', 'expires_at'],
  token_revocation: ['id', 'revoked_from', 'expires_at'],
  email_change: ['id', 'userid', 'code_hash', 'expires_at'],
  mailed_code: ['id', 'purpose', 'code_hash', 'expires_at'],
  sign_up: ['id', 'email_key', 'code_hash', 'expires_at'],
  user_factor: ['id', 'userid', 'kind', 'last_counter'],
  recovery_code: ['id', 'userid', 'hash'],
  user_identity: ['id', 'userid', 'provider', 'subject'],
  identity_login: ['id', 'token_hash', 'content', 'expires_at'],
  audit_event: ['id', 'userid', 'request_id', 'event_count'],
  user_session: ['id', 'userid', 'jti', 'expires_at'],
  user_metadata: ['userid', 'metadata'],
  user_erasure: ['userid', 'due_at', 'erased_at'],
  latchkey_installation: ['id', 'created_at'],
}

/** Returns true for a column by which a login finds its user. */
export const isLoginColumn = ({ table, column }: Pick<SpecifiedColumn, 'table' | 'column'>): boolean =>
  table === 'users' && ['email', 'username'].includes(column)

/** Everything that one kind of database has for adopting tables that another program created. */
export interface Adoption {
  /** A `select` for each part of `Schema`, under the names of its fields. */
  readonly catalog: Readonly<Record<keyof Schema, string>>
  /** The `data_type` of the columns that can be used; new columns get the first. */
  readonly types: Readonly<Record<Kind, readonly string[]>>
  /** Further types from which `redefine` loses nothing. */
  readonly convertible: Readonly<Partial<Record<Kind, readonly string[]>>>
  /** The key of the index by which no two users share `column`, once the database is migrated. */
  uniqueKey(column: string): string
  /** An expression that is the same for values of `column` that differ only by case. */
  fold(column: string): string
  /** True if a migration narrows `email` and `username` to their specified length. */
  readonly narrowsNames: boolean
  /** A condition for a moment that no calendar has, which a migration would refuse. */
  readonly impossibleMoment?: (column: string) => string
  /** SQL that adds a column. */
  addColumn(column: SpecifiedColumn): string
  /** SQL that sets type, length, nullability, character set and collation, and what the database writes. */
  redefine(column: SpecifiedColumn, found: Column): string
  /** SQL that lets no two users share a value of the column, except for `null`. */
  addUniqueIndex(column: SpecifiedColumn, found: Column): string
}

export const alter = (table: string, change: string): string => `alter table ${table} ${change};`

/** One way in which a database, its tables or the rights of the login are not as migrations need them. They refuse to run. */
export interface Difference {
  /** A column or table and what is wrong with it: `users.email has no unique index`. */
  problem: string
  /** Its effect, or the remedy where no SQL fixes it. */
  consequence?: string
  /** SQL that loses no data and changes no row; absent where only the owner of the data can decide. */
  fix?: string
  /** Some of the values that cause it. */
  examples?: readonly string[]
}

/** A fault in the way the database stores or folds texts. A database in use may keep it, unless migrations fail because of it. */
export interface TextFault extends Difference {
  isFinal: boolean
}
