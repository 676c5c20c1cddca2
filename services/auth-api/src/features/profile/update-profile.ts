import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import { LANGUAGE_PROPERTY, type Language, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { ResetRepository } from '../password-reset/reset-repository.ts'
import type { Claims } from '../tokens/claims.ts'

export interface ProfileChange {
  name?: string | undefined
  email?: string | undefined
  language?: Language | undefined
}

export interface UpdateProfileDependencies {
  transaction: Database['transaction']
  usersOf: (transaction: Queryable) => UserRepository
  resetsOf: (transaction: Queryable) => Pick<ResetRepository, 'endAll'>
  /** The user of a token; throws `invalid_token` when the token has ended. */
  requireValid: (transaction: Queryable, claims: Claims) => Promise<User>
  clock: Clock
}

export type UpdateProfile = ReturnType<typeof createUpdateProfile>

/**
 * Changes the given fields of the profile of a token's user, all or none; returns the user as it now is. A change of
 * e-mail ends the user's open password resets. Throws `email_taken`, and `invalid_token` when the token has ended.
 */
export function createUpdateProfile(dependencies: UpdateProfileDependencies) {
  const { transaction, usersOf, resetsOf, requireValid, clock } = dependencies

  async function setEmail(db: Queryable, user: User, email: string): Promise<void> {
    await usersOf(db).setEmail(user.userid, email)
    // A reset belongs to the mailbox that it was sent to.
    if (fold(user.email ?? '') !== fold(email)) await resetsOf(db).endAll(user.userid, new Date(clock()))
  }

  return (claims: Claims, { name, email, language }: ProfileChange): Promise<User | undefined> =>
    transaction(async (db) => {
      const users = usersOf(db)
      const userid = claims.sub
      // One update of a user at a time: no key of users_property prevents two languages.
      await users.lock(userid)
      // A replica remembers tokens as valid for REVOCATION_CACHE. A token that has ended must not change the e-mail.
      const user = await requireValid(db, claims)
      if (name !== undefined) await users.setName(userid, name)
      if (email !== undefined) await setEmail(db, user, email)
      if (language !== undefined) {
        await users.setProperty(userid, LANGUAGE_PROPERTY, language)
        await users.touch(userid)
      }
      return users.findById(userid)
    })
}
