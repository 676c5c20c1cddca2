import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'
import { insertRows } from '@latchkey/shared/database/insert-rows.ts'
import { folded } from '@latchkey/shared/database/postgres/folded.ts'
import type { UserProperty } from '@latchkey/shared/users/user.ts'

/** A user with its future id; the hash is stored as it is. Texts are NFC. */
export interface ImportedUser {
  line: number
  userid: string
  username: string
  email: string | null
  name: string | null
  role: string | null
  passwordHash: string
  properties: readonly UserProperty[]
}

/** The user who has a username or an e-mail. */
export interface Holder {
  userid: string
  username: string
  email: string | null
  isDeleted: boolean
}

interface HolderRow {
  userid: unknown
  username: string
  email: string | null
  is_deleted: boolean | number
}

const SELECT_HOLDERS = 'select userid, username, email, deleted_at is not null as is_deleted from users'

const findHolders = (field: 'username' | 'email'): Statement => ({
  name: `user-holders-${field}`,
  text: {
    postgres: `${SELECT_HOLDERS}
      where ${folded(field)} in (select ${folded('listed')} from unnest($1::text[]) as listed)`,
    mysql: `${SELECT_HOLDERS} where ${field} in ($1)`,
  },
})
const FIND_HOLDERS = { username: findHolders('username'), email: findHolders('email') }

/** Creates the repository that stores many users in few statements. Given a transaction, it works inside that transaction. */
export function createUserImportRepository(db: Queryable) {
  return {
    /** Ignores case. Deleted users keep their names. */
    async findHolders(field: 'username' | 'email', values: readonly string[]): Promise<Holder[]> {
      if (values.length === 0) return []
      const rows = await db.query<HolderRow>(FIND_HOLDERS[field], [values])
      return rows.map((row) => ({
        userid: db.fromUuidValue(row.userid),
        username: row.username,
        email: row.email,
        isDeleted: Boolean(row.is_deleted),
      }))
    },

    /** Throws the driver's error when a user violates a unique index. Needs a transaction, which then stores none. */
    async insertAll(users: readonly ImportedUser[]): Promise<void> {
      const rows = users.map((user) => [
        db.toUuidValue(user.userid),
        user.name,
        user.email,
        user.username,
        user.passwordHash,
        user.role,
      ])
      await insertRows(db, 'users', ['userid', 'name', 'email', 'username', 'password', 'role'], rows)
      const properties = users.flatMap(({ userid, properties }) =>
        properties.map(({ name, value }) => [db.toUuidValue(userid), name, value]),
      )
      await insertRows(db, 'users_property', ['userid', 'name', 'value'], properties)
    },
  }
}
