import type { Queryable, Statement } from '../database/database.ts'

const END_RESETS: Statement = {
  name: 'password_reset-end-all',
  text: 'update password_reset set used_at = $2 where userid = $1 and used_at is null',
}
const END_EMAIL_CHANGES: Statement = {
  name: 'email_change-end-all',
  text: 'update email_change set used_at = $2 where userid = $1 and used_at is null',
}

/** Ends the requested changes of a user's e-mail. */
export const endEmailChanges = (db: Queryable, userid: string, now: Date): Promise<number> =>
  db.execute(END_EMAIL_CHANGES, [db.toUuidValue(userid), now])

/**
 * Ends every password reset and change of e-mail that was requested for a user, also those whose code is confirmed. Whatever
 * takes an account back calls it: a thief who has read the mailbox would otherwise set the next password.
 */
export async function endCodes(db: Queryable, userid: string, now: Date): Promise<void> {
  await Promise.all([db.execute(END_RESETS, [db.toUuidValue(userid), now]), endEmailChanges(db, userid, now)])
}
