import { LANGUAGE_PROPERTY, type Language } from '@latchkey/shared/users/user.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { Caller } from '../../tokens/claims.ts'
import type { Proof } from './begin-change.ts'
import { createChangeEmail } from './change-email.ts'
import { getProfile } from './get-profile.ts'
import type { ProfileRecord } from './profile-repository.ts'

export interface ProfileChange {
  name?: string | undefined
  email?: string | undefined
  language?: Language | undefined
  /** Required to change the e-mail where EMAIL_CHANGE is `confirmed` and the user has a password. */
  currentPassword?: string | undefined
}

type UpdateProfileCore = Pick<Core, 'transaction' | 'getTokenUser'> & Parameters<typeof createChangeEmail>[0]

/**
 * Changes the given fields of the profile of a token's user, all or none; returns the profile as it now is. Throws
 * `email_taken`, `wrong_password`, `rate_limited`, and `invalid_token` when the token has ended.
 */
export function createUpdateProfile(core: UpdateProfileCore, config: Pick<Config, 'profile' | 'reset'>) {
  const { transaction, usersIn, getTokenUser, sharedNow } = core
  const { changeEmail, guardEmailChange } = createChangeEmail(core, config)

  const store = (
    caller: Caller,
    { name, language }: ProfileChange,
    newEmail?: { email: string; proof: Proof },
  ): Promise<ProfileRecord> =>
    transaction(async (db) => {
      const users = usersIn(db)
      const { claims } = caller
      const userid = claims.sub
      const find = () => getProfile({ db, sharedNow }, config.reset, userid)
      // Either locks the user, so there is one update at a time: no key of users_property prevents two languages.
      const locked = name === undefined ? users.lock(userid) : users.setName(userid, name)
      // A replica remembers tokens as valid for REVOCATION_CACHE. For one that has ended, the change is rolled back.
      const valid = getTokenUser(db, claims)
      if (!newEmail && language === undefined) {
        // None of them needs the answer of another one.
        const [, , profile] = await Promise.all([locked, valid, find()])
        return profile
      }
      const [, user] = await Promise.all([locked, valid])
      if (newEmail) await changeEmail(db, user, newEmail, caller)
      if (language !== undefined)
        await Promise.all([users.setProperty(userid, LANGUAGE_PROPERTY, language), users.touch(userid)])
      return find()
    })

  return (change: ProfileChange, client: LoggedInClient): Promise<ProfileRecord> => {
    const { email, currentPassword } = change
    if (email === undefined) return store(client, change)
    return guardEmailChange(client, { email, currentPassword }, (proof) =>
      store(client, change, { email, proof }),
    )
  }
}
