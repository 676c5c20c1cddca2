import type { Queryable } from '@latchkey/shared/database/database.ts'
import { LANGUAGE_PROPERTY, type Language, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'

export interface ProfileChange {
  name?: string | undefined
  email?: string | undefined
  language?: Language | undefined
}

export interface UpdateProfileDependencies {
  transaction: <Result>(work: (transaction: Queryable) => Promise<Result>) => Promise<Result>
  usersOf: (transaction: Queryable) => UserRepository
}

export type UpdateProfile = ReturnType<typeof createUpdateProfile>

/**
 * Changes what is given of a user's profile, all of it or nothing; returns the user as it now is, undefined when
 * it is gone. Throws `email_taken`.
 */
export function createUpdateProfile({ transaction, usersOf }: UpdateProfileDependencies) {
  return (userid: string, { name, email, language }: ProfileChange): Promise<User | undefined> =>
    transaction(async (db) => {
      const users = usersOf(db)
      // One update of a user at a time: users_property has no key that would keep two languages apart.
      if (!(await users.lock(userid))) return undefined
      if (name !== undefined) await users.setName(userid, name)
      if (email !== undefined) await users.setEmail(userid, email)
      if (language !== undefined) {
        await users.setProperty(userid, LANGUAGE_PROPERTY, language)
        await users.touch(userid)
      }
      return users.findById(userid)
    })
}
