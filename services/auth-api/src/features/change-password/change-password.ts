import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { SendNotice } from '@latchkey/shared/mail-outbox/mail-notices.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type PasswordPolicy, requirePolicy } from '@latchkey/shared/passwords/password-policy.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { LoggedInClient } from '../../client.ts'
import type { RequireCurrentPassword } from '../../require-current-password.ts'
import type { Caller } from '../../tokens/claims.ts'
import type { IssuedToken, IssueToken } from '../../tokens/issue-token.ts'
import type { GetTokenUser, LockUser, TokenValidity } from '../../tokens/token-validity.ts'

export interface ChangePasswordDependencies {
  db: Pick<Database, 'transaction'> & Queryable
  usersIn: (transaction: Queryable) => UserRepository
  getTokenUser: GetTokenUser
  lockUser: LockUser
  requireCurrentPassword: RequireCurrentPassword
  passwords: Pick<PasswordHasher, 'hash'>
  notify: SendNotice
  validity: Pick<TokenValidity, 'forget'>
  issueToken: IssueToken
  policy: PasswordPolicy
  clock: Clock
}

export interface PasswordChange {
  currentPassword: string
  password: string
}

/**
 * Changes the password of a token's user, ends the open resets and every token issued so far, and returns a new one.
 * Throws `password_refused` with `violations`, `wrong_password`, and `invalid_token` when the token has ended.
 */
export function createChangePassword(dependencies: ChangePasswordDependencies) {
  const { db, usersIn, getTokenUser, lockUser, requireCurrentPassword } = dependencies
  const { passwords, notify, validity, issueToken, policy, clock } = dependencies

  /** Concurrent changes: the second fails, because the first has ended its token. */
  const store = ({ claims, audit }: Caller, passwordHash: string): Promise<User> =>
    db.transaction(async (transaction) => {
      const users = usersIn(transaction)
      const user = await lockUser(transaction, claims)
      const { userid } = user
      const now = clock()
      // None of them needs the answer of another one.
      const [changed] = await Promise.all([
        revokeUserTokens(users, user, now),
        users.setPassword(userid, passwordHash),
        endCodes(transaction, userid, new Date(now)),
        audit.write(transaction, { name: 'password.changed', userid }),
        notify(transaction, user, { template: 'password-changed' }, audit.address),
      ])
      return changed
    })

  return async (
    { currentPassword, password }: PasswordChange,
    caller: LoggedInClient,
  ): Promise<IssuedToken> => {
    // Cheaper than the hash of a guess, and says nothing about the current password.
    requirePolicy(password, policy)
    await requireCurrentPassword(await getTokenUser(db, caller.claims), currentPassword, caller)
    const client = { address: caller.audit.address, trust: 'known' } as const
    const passwordHash = await passwords.hash(password, client)
    const readAt = toNumericDate(clock())
    const user = await store(caller, passwordHash)
    validity.forget(caller.claims)
    return issueToken(user, readAt, caller.audit, { amr: caller.claims.amr })
  }
}
