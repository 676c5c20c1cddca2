import { hash } from 'node:crypto'
import type { Database } from '@latchkey/shared/database/database.ts'
import { insertRows } from '@latchkey/shared/database/insert-rows.ts'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { getScheme } from '@latchkey/shared/passwords/schemes.ts'
import { type BenchUser, PASSWORD } from './target.ts'

/** Rows of a statement, and statements at a time. */
const ROWS = 512
const STATEMENTS = 4
/** The users that the requests of a row name in turn, fewer than it sends. */
const SAMPLE = 20_000
const COLUMNS = ['userid', 'name', 'email', 'username', 'password', 'role']
const COUNT_GROWN = {
  name: 'bench-grown',
  text: "select count(*) as grown from users where username like 'grow%'",
}

/** Adds users to a database until it has `count` that this function added. */
export async function growUsers(databaseUrl: string, count: number): Promise<void> {
  const db = await openDatabase(databaseUrl, { poolSize: STATEMENTS })
  try {
    await addUsers(db, count)
    // What the rows of a smaller number of users have left would count as growth.
    await db.runScript('delete from token_revocation')
    // The statistics by which the planner chooses.
    await db.runScript(
      db.dialect.name === 'postgres' ? 'vacuum analyze' : 'analyze table users, token_revocation',
    )
    // Otherwise the server writes the new pages during the measurement. Not every role may ask for it.
    if (db.dialect.name === 'postgres') await db.runScript('checkpoint').catch(() => undefined)
  } finally {
    // PostgreSQL counts what a connection has read once it is closed.
    await db.close()
  }
}

async function addUsers(db: Database, count: number): Promise<void> {
  const [row] = await db.query<{ grown: number | string }>(COUNT_GROWN)
  let next = Number(row?.grown ?? 0)
  const password = await getScheme('sha1').hash(PASSWORD)
  const add = async (): Promise<void> => {
    while (next < count) {
      const first = next
      next += ROWS
      const users = Array.from({ length: Math.min(ROWS, count - first) }, (_, index) => userAt(first + index))
      const values = users.map(({ userid, email, username }) => [
        db.toUuidValue(userid),
        'User',
        email,
        username,
        password,
        'user',
      ])
      await insertRows(db, 'users', COLUMNS, values)
    }
  }
  await Promise.all(Array.from({ length: STATEMENTS }, add))
}

/** Some of the first `count` users, spread over all of them. */
export const sampleUsers = (count: number): BenchUser[] =>
  Array.from({ length: Math.min(count, SAMPLE) }, (_, index) =>
    userAt(Math.floor((index * count) / Math.min(count, SAMPLE))),
  )

function userAt(index: number): BenchUser & { username: string } {
  const username = `grow${index}`
  const digest = hash('md5', username)
  return {
    username,
    userid: digest.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    email: `${username}@example.com`,
  }
}
