import { type Columns, toInsert, valuesOf } from '../database/columns.ts'
import { type Queryable, type Statement, violatedIndex } from '../database/database.ts'
import { folded } from '../database/postgres/folded.ts'
import { AppError } from '../errors/app-error.ts'
import { fold, type User, type UserProperty } from './user.ts'

export type LoginField = 'email' | 'username'

export interface NewUser {
  name?: string | null
  email?: string | null
  username: string
  passwordHash: string
  role?: string | null
}

/** A user with one of its properties, as `USER_COLUMNS` of `USER_TABLES` select them. */
export interface UserRow {
  userid: unknown
  name: string | null
  email: string | null
  username: string
  password: string
  role: string | null
  created_at: Date | null
  updated_at: Date | null
  deleted_at: Date | null
  property_id: number | null
  property_name: string | null
  property_value: string | null
}

export const USER_COLUMNS = `u.userid, u.name, u.email, u.username, u.password, u.role, u.created_at, u.updated_at,
    u.deleted_at, p.id as property_id, p.name as property_name, p.value as property_value`
export const USER_TABLES = 'users u left join users_property p on p.userid = u.userid'
/** The table of a statement that needs the user `$1`, who must not be deleted. */
export const PRESENT_USER = 'users where userid = $1 and deleted_at is null'
const SELECT_USER = `select ${USER_COLUMNS} from ${USER_TABLES}`

const FIND_BY_ID: Statement = { name: 'user-by-id', text: `${SELECT_USER} where u.userid = $1 order by p.id` }

const findBy = (field: LoginField): Statement => ({
  name: `user-by-${field}`,
  text: {
    postgres: `${SELECT_USER} where ${folded(`u.${field}`)} = ${folded('$1')} order by u.userid, p.id`,
    // The collation of the column ignores case; lower() would keep the index from being used.
    mysql: `${SELECT_USER} where u.${field} = $1 order by u.userid, p.id`,
  },
})
const FIND_BY: Record<LoginField, Statement> = { email: findBy('email'), username: findBy('username') }

/**
 * In a cluster of MySQL a lock of a row holds on one node. There the row is written, so that of two transactions that lock it on
 * two nodes the later one is refused at its commit, and repeated.
 */
const LOCK: Statement = {
  name: 'user-lock',
  text: {
    postgres: 'select userid from users where userid = $1 for update',
    mysql: 'update users set lock_toggle = 1 - lock_toggle, updated_at = updated_at where userid = $1',
  },
}

/** The columns of a new user. */
export const NEW_USER_COLUMNS: Columns<NewUser & { userid: string }> = {
  userid: ({ userid }, db) => db.toUuidValue(userid),
  name: ({ name }) => name ?? null,
  email: ({ email }) => email?.normalize('NFC') ?? null,
  username: ({ username }) => username.normalize('NFC'),
  password: ({ passwordHash }) => passwordHash,
  role: ({ role }) => role ?? null,
}
const INSERT: Statement = { name: 'user-insert', text: `insert into users ${toInsert(NEW_USER_COLUMNS)}` }

/** Locks the user too, as `LOCK` does, also where the name stays. */
const UPDATE_NAME: Statement = {
  name: 'user-set-name',
  text: {
    postgres: 'update users set name = $2 where userid = $1',
    mysql: 'update users set name = $2, lock_toggle = 1 - lock_toggle where userid = $1',
  },
}
const UPDATE_EMAIL: Statement = {
  name: 'user-set-email',
  text: 'update users set email = $2 where userid = $1',
}
const UPDATE_USERNAME: Statement = {
  name: 'user-set-username',
  text: 'update users set username = $2 where userid = $1',
}
const UPDATE_ROLE: Statement = { name: 'user-set-role', text: 'update users set role = $2 where userid = $1' }
const TOUCH: Statement = {
  name: 'user-touch',
  text: 'update users set updated_at = current_timestamp where userid = $1',
}
const SET_PASSWORD: Statement = {
  name: 'user-set-password',
  text: 'update users set password = $2 where userid = $1',
}

const REPLACE_HASH: Statement = {
  name: 'user-replace-hash',
  text: {
    // The last condition is always true: it tells the trigger on `users`, which runs after it, to keep `updated_at`.
    postgres: `update users set password = $2 where userid = $1 and password = $3
      and set_config('latchkey.keep_updated_at', 'on', true) = 'on'`,
    // Assigned to itself, the column is not set to the current time.
    mysql: 'update users set password = $2, updated_at = updated_at where userid = $1 and password = $3',
  },
}

const SET_PROPERTY: Statement = {
  name: 'property-set',
  text: 'update users_property set value = $3 where userid = $1 and name = $2',
}
const DELETE_PROPERTIES: Statement = {
  name: 'property-delete',
  text: 'delete from users_property where userid = $1 and name = $2',
}
/** The columns of a new property. */
export const PROPERTY_COLUMNS: Columns<UserProperty & { userid: string }> = {
  userid: ({ userid }, db) => db.toUuidValue(userid),
  name: ({ name }) => name,
  value: ({ value }) => value,
}
const INSERT_PROPERTY: Statement = {
  name: 'property-insert',
  text: `insert into users_property ${toInsert(PROPERTY_COLUMNS)}`,
}

const SOFT_DELETE: Statement = {
  name: 'user-soft-delete',
  text: 'update users set deleted_at = current_timestamp where userid = $1',
}
const RESTORE: Statement = {
  name: 'user-restore',
  text: 'update users set deleted_at = null where userid = $1',
}

export type UserRepository = ReturnType<typeof createUserRepository>

/** Creates the repository of users and their properties. Given a transaction instead of the pool, it works inside that transaction. */
export function createUserRepository(db: Queryable) {
  async function find(statement: Statement, value: Parameters<Queryable['query']>[1]): Promise<User[]> {
    return toUsers(db, await db.query<UserRow>(statement, value))
  }

  async function findById(userid: string): Promise<User | undefined> {
    const [user] = await find(FIND_BY_ID, [db.toUuidValue(userid)])
    return user
  }

  /** Locks the user's row until the transaction ends; false when the user does not exist. */
  async function lock(userid: string): Promise<boolean> {
    return (await db.execute(LOCK, [db.toUuidValue(userid)])) > 0
  }

  return {
    findById,

    lock,

    /** Locks the user's row until the transaction ends, and then reads it. */
    async lockAndFind(userid: string): Promise<User | undefined> {
      const [, user] = await Promise.all([lock(userid), findById(userid)])
      return user
    },

    /** Finds a user by e-mail or username without regard to case, deleted users included. */
    async findByLogin(field: LoginField, login: string): Promise<User | undefined> {
      const users = await find(FIND_BY[field], [login.normalize('NFC')])
      return users.find((user) => fold(user[field] ?? '') === fold(login))
    },

    /** Stores a user and returns its new id; throws `email_taken` or `username_taken`. */
    async insert(user: NewUser): Promise<string> {
      const userid = crypto.randomUUID()
      const values = valuesOf(NEW_USER_COLUMNS, { ...user, userid }, db)
      await withTakenErrors(db, () => db.execute(INSERT, values))
      return userid
    },

    setName: (userid: string, name: string | null) => db.execute(UPDATE_NAME, [db.toUuidValue(userid), name]),

    /** Throws `email_taken`. */
    setEmail: (userid: string, email: string | null) =>
      withTakenErrors(db, () =>
        db.execute(UPDATE_EMAIL, [db.toUuidValue(userid), email?.normalize('NFC') ?? null]),
      ),

    /** Throws `username_taken`. */
    setUsername: (userid: string, username: string) =>
      withTakenErrors(db, () =>
        db.execute(UPDATE_USERNAME, [db.toUuidValue(userid), username.normalize('NFC')]),
      ),

    setRole: (userid: string, role: string | null) => db.execute(UPDATE_ROLE, [db.toUuidValue(userid), role]),

    setPassword: (userid: string, passwordHash: string) =>
      db.execute(SET_PASSWORD, [db.toUuidValue(userid), passwordHash]),

    /**
     * Replaces `oldHash` by a better hash of the same password and keeps `updated_at`. Does nothing when the password
     * has changed by then.
     */
    async replaceHash(userid: string, oldHash: string, newHash: string): Promise<void> {
      await db.execute(REPLACE_HASH, [db.toUuidValue(userid), newHash, oldHash])
    },

    /** Leaves one row with this name, or none for null. Needs a transaction that has locked the user. */
    async setProperty(userid: string, name: string, value: string | null): Promise<void> {
      const id = db.toUuidValue(userid)
      // A change keeps the row: ids are of 32 bits, and no number of changes uses them up.
      const rows = value === null ? undefined : await db.execute(SET_PROPERTY, [id, name, value])
      if (rows === 1) return
      // Nothing prevents another program from adding a name twice.
      if (rows !== 0) await db.execute(DELETE_PROPERTIES, [id, name])
      if (value !== null)
        await db.execute(INSERT_PROPERTY, valuesOf(PROPERTY_COLUMNS, { userid, name, value }, db))
    },

    /** Marks the user as deleted: no login, refresh or reset succeeds. The row and its properties stay. */
    softDelete: (userid: string) => db.execute(SOFT_DELETE, [db.toUuidValue(userid)]),

    restore: (userid: string) => db.execute(RESTORE, [db.toUuidValue(userid)]),

    /** Sets `updated_at`, for a change of properties only. */
    touch: (userid: string) => db.execute(TOUCH, [db.toUuidValue(userid)]),
  }
}

/** `rows` has one row for each property, ordered by user and property. */
export function toUsers(db: Queryable, rows: readonly UserRow[]): User[] {
  const users = new Map<string, User & { properties: UserProperty[] }>()
  for (const row of rows) {
    const userid = db.fromUuidValue(row.userid)
    const user = users.get(userid) ?? { ...toUser(row), userid, properties: [] }
    users.set(userid, user)
    if (row.property_id !== null)
      user.properties.push({ name: row.property_name ?? '', value: row.property_value })
  }
  return [...users.values()]
}

const toUser = (row: UserRow) => ({
  name: row.name,
  email: row.email,
  username: row.username,
  passwordHash: row.password.trimEnd(), // CHAR(40), before its migration, is padded.
  role: row.role,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  deletedAt: row.deleted_at,
})

async function withTakenErrors<Result>(db: Queryable, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const index = violatedIndex(db, error)
    if (!index) throw error
    const code = index.includes('username') ? 'username_taken' : 'email_taken'
    const field = index.includes('username') ? 'username' : 'e-mail address'
    throw new AppError(code, `This ${field} is already in use`, { cause: error })
  }
}
