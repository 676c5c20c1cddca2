import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Caller } from '../../tokens/claims.ts'
import { sessionIdOf } from '../../tokens/revocation-repository.ts'
import type { RevokeSession } from '../../tokens/revoke-session.ts'
import type { LockUser, TokenValidity } from '../../tokens/token-validity.ts'

export interface LogOutDependencies {
  revokeSession: RevokeSession
  validity: Pick<TokenValidity, 'forgetSession'>
  transaction: Database['transaction']
  usersIn: (transaction: Queryable) => Pick<UserRepository, 'setProperty'>
  lockUser: LockUser
  localNow: Clock
}

/**
 * Ends the session of a token. With `everywhere`, ends every token issued to the user so far, and throws `invalid_token` when
 * the caller's own token has ended.
 */
export function createLogOut(dependencies: LogOutDependencies) {
  const { revokeSession, validity, transaction, usersIn, lockUser, localNow } = dependencies

  async function endOneSession({ claims, audit }: Caller): Promise<void> {
    await revokeSession(sessionIdOf(claims), claims.exp)
    audit.report({ name: 'session.logged_out', userid: claims.sub })
  }

  /** A token that has ended ends no other, although this replica may remember it as valid. */
  const endAllSessions = ({ claims, audit }: Caller): Promise<void> =>
    transaction(async (db) => {
      const user = await lockUser(db, claims)
      await Promise.all([
        revokeUserTokens(usersIn(db), user, localNow()),
        audit.write(db, { name: 'sessions.logged_out', userid: user.userid }),
      ])
    })

  return async (caller: Caller, { everywhere }: { everywhere: boolean }): Promise<void> => {
    try {
      await (everywhere ? endAllSessions(caller) : endOneSession(caller))
    } finally {
      // The tokens of the session are refused here at once; on other replicas within REVOCATION_CACHE.
      validity.forgetSession(sessionIdOf(caller.claims))
    }
  }
}
