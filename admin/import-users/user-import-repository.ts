import type { Queryable, SqlValue, Statement } from '@latchkey/shared/database/database.ts'
import type { UserProperty } from '@latchkey/shared/users/user.ts'

/** A user with its future id; the hash is stored as it is. Texts are NFC. */
export interface ImportedUser {
  userid: string
  username: string
  email: string
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

/** Six values per row: far below the 65,535 values that both protocols allow in a statement. */
const MAX_ROWS = 512

/** Many users in few statements. Given a transaction, it works inside that transaction. */
export function createUserImportRepository(db: Queryable) {
  return {
    /** Ignores case. Deleted users keep their names. */
    async findHolders(field: 'username' | 'email', values: readonly string[]): Promise<Holder[]> {
      const found: Holder[] = []
      for (const some of inPowersOfTwo(values)) {
        const rows = await db.query<HolderRow>(findHolders(field, some.length), some)
        found.push(
          ...rows.map((row) => ({
            userid: db.fromUuidValue(row.userid),
            username: row.username,
            email: row.email,
            isDeleted: Boolean(row.is_deleted),
          })),
        )
      }
      return found
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
      await insertRows('users', ['userid', 'name', 'email', 'username', 'password', 'role'], rows)
      const properties = users.flatMap(({ userid, properties }) =>
        properties.map(({ name, value }) => [db.toUuidValue(userid), name, value]),
      )
      await insertRows('users_property', ['userid', 'name', 'value'], properties)
    },
  }

  async function insertRows(table: string, columns: readonly string[], rows: readonly SqlValue[][]) {
    for (const some of inPowersOfTwo(rows)) {
      await db.execute(insertInto(table, columns, some.length), some.flat())
    }
  }
}

/**
 * Groups of 512, 256 … 1. A server keeps every prepared statement of a session: this way there are ten of a kind
 * instead of one for every number of rows.
 */
function inPowersOfTwo<Item>(items: readonly Item[]): Item[][] {
  const groups: Item[][] = []
  for (let start = 0; start < items.length; start += groups.at(-1)?.length ?? 0) {
    const left = Math.min(items.length - start, MAX_ROWS)
    groups.push(items.slice(start, start + 2 ** Math.floor(Math.log2(left))))
  }
  return groups
}

const statements = new Map<string, Statement>()

/** Returns the same object for the same statement: the MySQL adapter caches translations by it. */
function prepared(name: string, make: () => Omit<Statement, 'name'>): Statement {
  const statement = statements.get(name) ?? { name, ...make() }
  statements.set(name, statement)
  return statement
}

const findHolders = (field: 'username' | 'email', count: number): Statement =>
  prepared(`user-holders-${field}-${count}`, () => {
    const select = 'select userid, username, email, deleted_at is not null as is_deleted from users'
    const numbers = Array.from({ length: count }, (_, index) => `$${index + 1}`)
    return {
      text: ({ caseless }) => `${select} where ${caseless(field)} in (${numbers.map(caseless).join(', ')})`,
    }
  })

const insertInto = (table: string, columns: readonly string[], count: number): Statement =>
  prepared(`import-${table}-${count}`, () => {
    const row = (index: number) =>
      `(${columns.map((_, column) => `$${index * columns.length + column + 1}`).join(', ')})`
    const rows = Array.from({ length: count }, (_, index) => row(index))
    return { text: `insert into ${table} (${columns.join(', ')}) values ${rows.join(', ')}` }
  })
