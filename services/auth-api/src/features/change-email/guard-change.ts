import type { Queryable } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { endOnQuantum } from '../../one-time-codes/end-on-quantum.ts'
import type { Caller, Claims } from '../../tokens/claims.ts'
import type { PasswordClient } from '../change-password/password-client.ts'
import { wrongPassword } from '../change-password/password-client.ts'
import type { ProfileRecord } from '../profile/profile-repository.ts'
import type { ProfileChange, UpdateProfile } from '../profile/update-profile.ts'
import { isSameMailbox } from './make-change.ts'

export interface GuardChangeDependencies {
  db: Queryable
  /** The user of a token; throws `invalid_token` when the token has ended. */
  requireValid: (db: Queryable, claims: Claims) => Promise<User>
  updateProfile: UpdateProfile
}

/** The client of one request. */
export interface EmailChangeClient extends Pick<PasswordClient, 'verify'> {
  /** Counts a mail that the user causes to be sent to `email`; throws `rate_limited` beyond the limit. */
  limitMail: (user: User, email: string) => Promise<void>
}

export interface GuardedProfileChange extends ProfileChange {
  currentPassword?: string | undefined
}

/**
 * Requires the current password for a change of profile that contains another e-mail; throws `wrong_password` without
 * the right one, before anything changes. Whether the e-mail is taken shows neither in the answer nor in its time.
 */
export function createGuardChange({ db, requireValid, updateProfile }: GuardChangeDependencies) {
  async function prove(
    user: User,
    password: string | undefined,
    email: string,
    client: EmailChangeClient,
  ): Promise<void> {
    if (password === undefined)
      throw wrongPassword('Send the current password as currentPassword to change the e-mail')
    await client.verify(user, password)
    await client.limitMail(user, email)
  }

  return async (
    caller: Caller,
    { currentPassword, ...change }: GuardedProfileChange,
    client: EmailChangeClient,
  ): Promise<ProfileRecord | undefined> => {
    const { email } = change
    if (email === undefined) return updateProfile(caller, change)
    const user = await requireValid(db, caller.claims)
    if (isSameMailbox(user, email)) return updateProfile(caller, change)
    await prove(user, currentPassword, email, client)
    return endOnQuantum(() => updateProfile(caller, change))
  }
}
