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
 * Changes the given fields of a user's profile, all or none; returns the user as it now is, or undefined if there is no
 * such user. Throws `email_taken`.
 */
export function createUpdateProfile({ transaction, usersOf }: UpdateProfileDependencies) {
  return (userid: string, { name, email, language }: ProfileChange): Promise<User | undefined> =>
    transaction(async (db) => {
      const users = usersOf(db)
      // One update of a user at a time: no key of users_property prevents two languages.
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
