import { randomBytes } from 'node:crypto'
import { changeRow } from '../database/change-row.ts'
import type { Queryable, Statement } from '../database/database.ts'
import { AppError } from '../errors/app-error.ts'
import { createFactorRepository } from './factor-repository.ts'
import { createIdentityRepository } from './identity-repository.ts'
import { ADMIN_ROLE } from './roles.ts'
import { fold, NO_PASSWORD, type User } from './user.ts'

/** The erasure of a user's data, which is to come or was. */
export interface Erasure {
  dueAt: Date
  erasedAt: Date | undefined
}

const SCHEDULE: Statement = {
  name: 'erasure-schedule',
  text: {
    postgres: `insert into user_erasure (userid, due_at) values ($1, $2)
      on conflict (userid) do update set due_at = $2`,
    mysql: `insert into user_erasure (userid, due_at) values ($1, $2)
      on duplicate key update due_at = $2`,
  },
}
const FIND: Statement = {
  name: 'erasure-find',
  text: 'select due_at, erased_at from user_erasure where userid = $1',
}
const FIND_DUE: Statement = {
  name: 'erasure-due',
  text: 'select userid from user_erasure where erased_at is null and due_at <= $1 order by due_at limit 100',
}
const CANCEL: Statement = {
  name: 'erasure-cancel',
  text: 'delete from user_erasure where userid = $1 and erased_at is null',
}
const RECORD: Statement = {
  name: 'erasure-record',
  text: 'update user_erasure set erased_at = $2 where userid = $1 and erased_at is null',
}
const FIND_OTHER_ADMIN: Statement = {
  name: 'erasure-other-admin',
  text: 'select 1 as found from users where role = $1 and userid <> $2 and deleted_at is null limit 1',
}

const FIND_NEW_EMAILS: Statement = {
  name: 'erase-find-emails',
  text: 'select email from email_change where userid = $1',
}
const CLEAR_USER: Statement = {
  name: 'erase-user',
  text: `update users set name = null, email = null, username = $2, password = $3, role = null,
      deleted_at = coalesce(deleted_at, current_timestamp)
    where userid = $1`,
}
/** Everything of a person, by the id. The table of the users stays, and factors and identities have repositories. */
const BY_ID: readonly Statement[] = [
  { name: 'erase-properties', text: 'delete from users_property where userid = $1' },
  { name: 'erase-metadata', text: 'delete from user_metadata where userid = $1' },
  { name: 'erase-sessions', text: 'delete from user_session where userid = $1' },
  { name: 'erase-email-changes', text: 'delete from email_change where userid = $1' },
  { name: 'erase-mailed-codes', text: 'delete from mailed_code where userid = $1' },
  { name: 'erase-resets', text: 'delete from password_reset where userid = $1' },
]
/** The same by an address, folded. */
const BY_EMAIL: readonly Statement[] = [
  { name: 'erase-resets-of-email', text: 'delete from password_reset where email = $1' },
  { name: 'erase-mailed-codes-of-email', text: 'delete from mailed_code where email = $1' },
  { name: 'erase-sign-ups', text: 'delete from sign_up where email_key = $1' },
]
const ERASE_MAILS: Statement = {
  name: 'erase-mails',
  text: {
    postgres: 'delete from mail_outbox where position($1 in payload) > 0',
    // By bytes: the collation takes letters for one that the mailboxes of two people differ by.
    mysql: 'delete from mail_outbox where instr(cast(payload as binary), cast($1 as binary)) > 0',
  },
}

/** Creates the repository of erasures. Given a transaction, it works inside that transaction. */
export const createErasureRepository = (db: Queryable) => ({
  schedule: (userid: string, dueAt: Date) => db.execute(SCHEDULE, [db.toUuidValue(userid), dueAt]),

  /** Ends an erasure that has not taken place. */
  cancel: (userid: string) => db.execute(CANCEL, [db.toUuidValue(userid)]),

  async find(userid: string): Promise<Erasure | undefined> {
    const [row] = await db.query<{ due_at: Date; erased_at: Date | null }>(FIND, [db.toUuidValue(userid)])
    return row && { dueAt: row.due_at, erasedAt: row.erased_at ?? undefined }
  },

  /** Finds users whose erasure is due at `now`, at most a hundred. */
  findDue: async (now: Date): Promise<string[]> =>
    (await db.query<{ userid: unknown }>(FIND_DUE, [now])).map(({ userid }) => db.fromUuidValue(userid)),
})

/** Throws `last_admin` for the only user with the role of admins. */
export async function requireOtherAdmin(db: Queryable, { userid, role }: User): Promise<void> {
  if (role !== ADMIN_ROLE) return
  const found = await db.query(FIND_OTHER_ADMIN, [ADMIN_ROLE, db.toUuidValue(userid)])
  if (found.length === 0) throw new AppError('last_admin', 'This is the last user with the role admin')
}

/**
 * Erases everything of a person whom the transaction has locked; false where that was done before. The row of the user stays under
 * a random username, so that the rows of other programs point at it. mailer-worker takes the person out of the audit trail.
 */
export async function eraseUser(transaction: Queryable, user: User, now: Date): Promise<boolean> {
  const id = transaction.toUuidValue(user.userid)
  if (!(await changeRow(transaction, RECORD, user.userid, now))) return false
  const changes = await transaction.query<{ email: string }>(FIND_NEW_EMAILS, [id])
  const emails = [user, ...changes].flatMap(({ email }) => email ?? [])
  await Promise.all([
    transaction.execute(CLEAR_USER, [id, `erased-${randomBytes(8).toString('hex').slice(3)}`, NO_PASSWORD]),
    createFactorRepository(transaction).deleteAll(user.userid),
    createIdentityRepository(transaction).deleteAll(user.userid),
    ...BY_ID.map((statement) => transaction.execute(statement, [id])),
    ...BY_EMAIL.flatMap((statement) => emails.map((email) => transaction.execute(statement, [fold(email)]))),
    // The recipient, as the outbox has it.
    ...emails.map((email) => transaction.execute(ERASE_MAILS, [`"to":${JSON.stringify(email)}`])),
  ])
  return true
}
