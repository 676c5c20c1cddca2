import { requirePolicy } from '@latchkey/shared/passwords/password-policy.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { Caller } from '../../tokens/claims.ts'
import type { IssuedLogin } from '../../tokens/issue-token.ts'
import type { Proof } from './begin-change.ts'

type ChangePasswordCore = Pick<
  Core,
  'transaction' | 'guard' | 'hashFor' | 'notify' | 'validity' | 'issueLogin' | 'findRefreshForm' | 'localNow'
>

export interface PasswordChange {
  /** Absent for a user without a password. */
  currentPassword?: string | undefined
  password: string
}

/**
 * Changes the password of a token's user, ends the open resets and every token issued so far, and begins a new session, which lasts
 * where the former one did.
 * Throws `password_refused` with `violations`, and what the guard throws.
 */
export function createChangePassword(core: ChangePasswordCore, policy: Config['policy']) {
  const { transaction, guard, hashFor, notify, validity, issueLogin, findRefreshForm, localNow } = core

  /** Concurrent changes: the second fails, because the first has ended its token. */
  const store = (caller: Caller, proof: Proof, passwordHash: string): Promise<User> =>
    transaction(async (db) => {
      const user = await guard.lock(db, caller, proof)
      const users = guard.usersFor(db, user)
      const { audit } = caller
      const { userid } = user
      const now = localNow()
      // None of them needs the answer of another one.
      const [changed] = await Promise.all([
        revokeUserTokens(users, user, now),
        users.setPassword(userid, passwordHash),
        endCodes(db, userid, new Date(now)),
        audit.write(db, { name: 'password.changed', userid }),
        notify(db, user, { template: 'password-changed' }, audit.address),
      ])
      return changed
    })

  return async (
    { currentPassword, password }: PasswordChange,
    caller: LoggedInClient,
  ): Promise<IssuedLogin> => {
    // Cheaper than the hash of a guess, and says nothing about the current password.
    requirePolicy(password, policy)
    const proof = await guard.begin('changePassword', caller, currentPassword)
    const passwordHash = await hashFor(caller, 'known')(password)
    const readAt = toNumericDate(localNow())
    const remember = await findRefreshForm(caller.claims)
    const user = await store(caller, proof, passwordHash)
    validity.forget(caller.claims)
    const login = { ...proof.login, remember }
    return issueLogin(user, readAt, caller.audit, login).catch((error: unknown) => {
      if (remember === undefined) throw error
      // The password is changed: an answer without a refresh token says so, and an error would not.
      return issueLogin(user, readAt, caller.audit, proof.login)
    })
  }
}
