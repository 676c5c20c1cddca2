import { type Columns, valuesOf } from '../database/columns.ts'
import type { Queryable, Statement } from '../database/database.ts'
import { insertRows } from '../database/insert-rows.ts'
import { folded } from '../database/postgres/folded.ts'
import { BAN_PROPERTY } from './account-state.ts'
import type { User, UserProperty } from './user.ts'
import {
  type LoginField,
  NEW_USER_COLUMNS,
  type NewUser,
  PROPERTY_COLUMNS,
  type UserRow,
} from './user-repository.ts'

/** A user of a list, without the hash; of the properties it has the ban only. */
export type ListedUser = Omit<User, 'passwordHash' | 'updatedAt'>

/** A user with its future id; the hash is stored as it is. */
export interface ImportedUser extends NewUser {
  userid: string
  createdAt: Date
  deletedAt: Date | undefined
  properties: readonly UserProperty[]
}

/** The user who has a username or an e-mail. */
export interface Holder {
  userid: string
  username: string
  email: string | null
  isDeleted: boolean
}

/** The users whose stored passwords or e-mails have one form. */
export interface AccountCount {
  form: string
  users: number
}

interface ListedRow
  extends Pick<UserRow, 'userid' | 'username' | 'email' | 'name' | 'role' | 'created_at' | 'deleted_at'> {
  ban: string | null
}

interface HolderRow extends Pick<UserRow, 'userid' | 'username' | 'email'> {
  is_deleted: boolean | number
}

const IMPORTED_COLUMNS: Columns<ImportedUser> = {
  ...NEW_USER_COLUMNS,
  created_at: ({ createdAt }) => createdAt,
  deleted_at: ({ deletedAt }) => deletedAt ?? null,
}

const FIND_ANY: Statement = { name: 'user-any', text: 'select 1 as found from users limit 1' }

const LIST: Statement = {
  name: 'user-list',
  text: `select userid, username, email, name, role, created_at, deleted_at,
      (select max(p.value) from users_property p where p.userid = users.userid and p.name = $3) as ban
    from users
    where lower(username) like $1 escape '!' or lower(email) like $1 escape '!' or lower(name) like $1 escape '!'
    order by username limit $2`,
}

const SELECT_HOLDERS = 'select userid, username, email, deleted_at is not null as is_deleted from users'

const findHolders = (field: LoginField): Statement => ({
  name: `user-holders-${field}`,
  text: {
    postgres: `${SELECT_HOLDERS}
      where ${folded(field)} in (select ${folded('listed')} from unnest($1::text[]) as listed)`,
    mysql: `${SELECT_HOLDERS} where ${field} in ($1)`,
  },
})
const FIND_HOLDERS: Record<LoginField, Statement> = {
  username: findHolders('username'),
  email: findHolders('email'),
}

const FIND_BY_ID: Statement = {
  name: 'user-holders-userid',
  text: {
    postgres: `${SELECT_HOLDERS} where userid = any($1)`,
    mysql: `${SELECT_HOLDERS} where userid in ($1)`,
  },
}

const FIND_COLUMNS: Statement = {
  name: 'count-accounts-columns',
  text: {
    postgres: `select column_name from information_schema.columns
      where table_schema = current_schema() and table_name = 'users' and column_name in ('password', 'email')`,
    mysql: `select column_name from information_schema.columns
      where table_schema = database() and table_name = 'users' and column_name in ('password', 'email')`,
  },
}
const COUNT: Statement = {
  name: 'count-accounts',
  text: `select form, count(*) as users from (
      select case
        when password is null or password = '' then 'no password'
        when password like $1 then 'argon2id'
        when password like $2 then 'argon2i'
        when password like $3 then 'bcrypt'
        when char_length(password) = 40 and password not like $4 then 'sha1'
        when char_length(password) = 32 and password not like $4 then 'MD5, which no login verifies'
        else 'another hash, which no login verifies' end as form
      from users
    ) as forms group by form
    union all select 'no e-mail', count(*) from users where email is null or email = '' having count(*) > 0
    order by 1`,
}
const PATTERNS = ['$argon2id$%', '$argon2i$%', '$2_$%', '%$%']

/** Creates the repository that reads and stores many users in few statements. Given a transaction, it works inside that transaction. */
export function createManyUsersRepository(db: Queryable) {
  return {
    /** Tells if the database has a user, deleted ones included. */
    hasAny: async (): Promise<boolean> => (await db.query(FIND_ANY)).length > 0,

    /** Lists the users whose username, e-mail or name contains `search`, by username; all users if it is empty. */
    async list(search: string, limit: number): Promise<ListedUser[]> {
      const literal = search.normalize('NFC').toLowerCase().replace(/[!%_]/g, '!$&')
      // As text: mysql2 sends numbers as doubles, which LIMIT does not take.
      const rows = await db.query<ListedRow>(LIST, [`%${literal}%`, String(limit), BAN_PROPERTY])
      return rows.map((row) => ({
        userid: db.fromUuidValue(row.userid),
        username: row.username,
        email: row.email,
        name: row.name,
        role: row.role,
        createdAt: row.created_at,
        deletedAt: row.deleted_at,
        properties: row.ban === null ? [] : [{ name: BAN_PROPERTY, value: row.ban }],
      }))
    },

    /** Finds the users who have one of these names, without regard to case, or one of these ids. Deleted users keep their names. */
    async findHolders(field: LoginField | 'userid', values: readonly string[]): Promise<Holder[]> {
      if (values.length === 0) return []
      const rows =
        field === 'userid'
          ? await db.query<HolderRow>(FIND_BY_ID, [values.map(db.toUuidValue)])
          : await db.query<HolderRow>(FIND_HOLDERS[field], [values])
      return rows.map((row) => ({
        userid: db.fromUuidValue(row.userid),
        username: row.username,
        email: row.email,
        isDeleted: Boolean(row.is_deleted),
      }))
    },

    /** Stores users. Throws the driver's error when one violates a unique index. Needs a transaction, which then stores none. */
    async insertAll(users: readonly ImportedUser[]): Promise<void> {
      const rows = users.map((user) => valuesOf(IMPORTED_COLUMNS, user, db))
      await insertRows(db, 'users', Object.keys(IMPORTED_COLUMNS), rows)
      const properties = users.flatMap(({ userid, properties }) =>
        properties.map((property) => valuesOf(PROPERTY_COLUMNS, { ...property, userid }, db)),
      )
      await insertRows(db, 'users_property', Object.keys(PROPERTY_COLUMNS), properties)
    },

    /** Counts users by the kind of their hash, and those without an e-mail, also in a table of another program. */
    async countByForm(): Promise<AccountCount[]> {
      if ((await db.query(FIND_COLUMNS)).length < 2) return []
      const rows = await db.query<{ form: string; users: unknown }>(COUNT, PATTERNS)
      return rows.map(({ form, users }) => ({ form, users: Number(users) }))
    },
  }
}
