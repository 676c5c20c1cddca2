import type { Queryable, Statement } from '../database/database.ts'

const END_RESETS: Statement = {
  name: 'password_reset-end-all',
  text: 'update password_reset set used_at = $2 where userid = $1 and used_at is null',
}
const END_EMAIL_CHANGES: Statement = {
  name: 'email_change-end-all',
  text: 'update email_change set used_at = $2 where userid = $1 and used_at is null',
}

const END_ENROLMENTS: Statement = {
  name: 'factor-delete-pending',
  text: 'delete from user_factor where userid = $1 and confirmed_at is null',
}

/** Ends the requested changes of a user's e-mail. */
export const endEmailChanges = (db: Queryable, userid: string, now: Date): Promise<number> =>
  db.execute(END_EMAIL_CHANGES, [db.toUuidValue(userid), now])

/** Ends the enrolments of factors that the user has not confirmed. */
export const endEnrolments = (db: Queryable, userid: string): Promise<number> =>
  db.execute(END_ENROLMENTS, [db.toUuidValue(userid)])

/** Ends what was begun while less guarded the account: its changes of e-mail, and the enrolments of factors. */
export async function endBegunChanges(db: Queryable, userid: string, now: Date): Promise<void> {
  await Promise.all([endEmailChanges(db, userid, now), endEnrolments(db, userid)])
}

/**
 * Ends every password reset, change of e-mail and enrolment that was begun for a user, also a reset whose code is confirmed. Whatever
 * takes an account back calls it: a thief who has read the mailbox would otherwise set the next password.
 */
export async function endCodes(db: Queryable, userid: string, now: Date): Promise<void> {
  await Promise.all([db.execute(END_RESETS, [db.toUuidValue(userid), now]), endBegunChanges(db, userid, now)])
}
