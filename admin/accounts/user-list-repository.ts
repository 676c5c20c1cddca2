import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'

export type ListedUser = Omit<User, 'passwordHash' | 'properties' | 'updatedAt'>

interface ListedRow {
  userid: unknown
  username: string
  email: string | null
  name: string | null
  role: string | null
  created_at: Date | null
  deleted_at: Date | null
}

const LIST: Statement = {
  name: 'user-list',
  text: `select userid, username, email, name, role, created_at, deleted_at from users
    where lower(username) like $1 escape '!' or lower(email) like $1 escape '!' or lower(name) like $1 escape '!'
    order by username limit $2`,
}

/** Users without their hashes and properties, which are not read. */
export function createUserListRepository(db: Queryable) {
  return {
    /** Users whose username, e-mail or name contains `search`, ordered by username; all users if it is empty. */
    async list(search: string, limit: number): Promise<ListedUser[]> {
      const literal = search.normalize('NFC').toLowerCase().replace(/[!%_]/g, '!$&')
      // As text: mysql2 sends numbers as doubles, which LIMIT does not take.
      const rows = await db.query<ListedRow>(LIST, [`%${literal}%`, String(limit)])
      return rows.map((row) => ({
        userid: db.fromUuidValue(row.userid),
        username: row.username,
        email: row.email,
        name: row.name,
        role: row.role,
        createdAt: row.created_at,
        deletedAt: row.deleted_at,
      }))
    },
  }
}
