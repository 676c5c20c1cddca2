import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { SendNotice } from '@latchkey/shared/mail-outbox/mail-notices.ts'
import { type PasswordPolicy, requirePolicy } from '@latchkey/shared/passwords/password-policy.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { endTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Caller, Claims } from '../../tokens/claims.ts'
import type { IssuedToken, IssueToken } from '../../tokens/issue-token.ts'
import type { TokenValidity } from '../../tokens/token-validity.ts'
import type { PasswordClient } from './password-client.ts'

export interface ChangePasswordDependencies {
  db: Pick<Database, 'transaction'> & Queryable
  usersOf: (transaction: Queryable) => UserRepository
  /** Ends every code that was mailed to the user. */
  endCodes: (transaction: Queryable, userid: string, now: Date) => Promise<void>
  /** The user of a token; throws `invalid_token` when the token has ended. */
  requireValid: (db: Queryable, claims: Claims) => Promise<User>
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

export type ChangePassword = ReturnType<typeof createChangePassword>

/**
 * Changes the password of a token's user, ends the open resets and every token issued so far, and returns a new one.
 * Throws `password_refused` with `violations`, `wrong_password`, and `invalid_token` when the token has ended.
 */
export function createChangePassword(dependencies: ChangePasswordDependencies) {
  const { db, usersOf, endCodes, requireValid, notify, validity, issueToken, policy, clock } = dependencies

  /** Of two changes at the same time the second finds that its token has ended. */
  const store = ({ claims, audit }: Caller, passwordHash: string): Promise<User> =>
    db.transaction(async (transaction) => {
      const users = usersOf(transaction)
      await users.lock(claims.sub)
      const user = await requireValid(transaction, claims)
      const { userid } = user
      await users.setPassword(userid, passwordHash)
      const now = clock()
      await endTokens(users, userid, now, { issuedAt: claims.iat })
      await endCodes(transaction, userid, new Date(now))
      await audit.write(transaction, { name: 'password.changed', userid })
      await notify(transaction, user, { template: 'password-changed' }, audit.address)
      return (await users.findById(userid)) ?? user
    })

  return async (
    caller: Caller,
    { currentPassword, password }: PasswordChange,
    client: PasswordClient,
  ): Promise<IssuedToken> => {
    // Cheaper than the hash of a guess, and says nothing about the current password.
    requirePolicy(password, policy)
    await client.verify(await requireValid(db, caller.claims), currentPassword)
    const passwordHash = await client.hash(password)
    const readAt = toNumericDate(clock())
    const user = await store(caller, passwordHash)
    validity.forget(caller.claims)
    return issueToken(user, readAt)
  }
}
