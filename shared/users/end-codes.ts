import type { Queryable } from '../database/database.ts'
import { createEmailChangeRepository } from './email-change-repository.ts'
import { createFactorRepository } from './factor-repository.ts'
import { createMailedCodeRepository } from './mailed-code-repository.ts'
import { createResetRepository } from './reset-repository.ts'

/** Ends what was begun when the account had fewer guards: its changes of e-mail, and the enrolments of factors. */
export async function endBegunChanges(db: Queryable, userid: string, now: Date): Promise<void> {
  await Promise.all([
    createEmailChangeRepository(db).endAll(userid, now),
    createFactorRepository(db).deletePending(userid),
  ])
}

/**
 * Ends every password reset, login by mail, change of e-mail and enrolment that was begun for a user, also a reset whose code is
 * confirmed.
 * Every change that takes an account back calls it: a thief who has read the mailbox would otherwise set the next password.
 */
export async function endCodes(db: Queryable, userid: string, now: Date): Promise<void> {
  await Promise.all([
    createResetRepository(db).endAll(userid, now),
    createMailedCodeRepository(db, 'login').endAll(userid, now),
    endBegunChanges(db, userid, now),
  ])
}
