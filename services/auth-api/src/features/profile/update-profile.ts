import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import { LANGUAGE_PROPERTY, type Language, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { ResetRepository } from '../password-reset/reset-repository.ts'

export interface ProfileChange {
  name?: string | undefined
  email?: string | undefined
  language?: Language | undefined
}

export interface UpdateProfileDependencies {
  transaction: Database['transaction']
  usersOf: (transaction: Queryable) => UserRepository
  resetsOf: (transaction: Queryable) => Pick<ResetRepository, 'endAll'>
  clock: Clock
}

export type UpdateProfile = ReturnType<typeof createUpdateProfile>

/**
 * Changes the given fields of a user's profile, all or none; returns the user as it now is, or undefined if there is no
 * such user. A change of e-mail ends the user's open password resets. Throws `email_taken`.
 */
export function createUpdateProfile({ transaction, usersOf, resetsOf, clock }: UpdateProfileDependencies) {
  async function setEmail(db: Queryable, userid: string, email: string): Promise<void> {
    const users = usersOf(db)
    const user = await users.findById(userid)
    await users.setEmail(userid, email)
    // A reset belongs to the mailbox that it was sent to.
    if (fold(user?.email ?? '') !== fold(email)) await resetsOf(db).endAll(userid, new Date(clock()))
  }

  return (userid: string, { name, email, language }: ProfileChange): Promise<User | undefined> =>
    transaction(async (db) => {
      const users = usersOf(db)
      // One update of a user at a time: no key of users_property prevents two languages.
      if (!(await users.lock(userid))) return undefined
      if (name !== undefined) await users.setName(userid, name)
      if (email !== undefined) await setEmail(db, userid, email)
      if (language !== undefined) {
        await users.setProperty(userid, LANGUAGE_PROPERTY, language)
        await users.touch(userid)
      }
      return users.findById(userid)
    })
}
