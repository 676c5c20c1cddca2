import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { endTokens } from '@latchkey/shared/users/valid-from.ts'
import type { ReportEvent } from '../../account-events.ts'
import type { Claims } from '../tokens/claims.ts'
import type { EndSession } from '../tokens/end-session.ts'
import type { TokenValidity } from '../tokens/token-validity.ts'

export interface LogOutDependencies {
  endSession: EndSession
  validity: Pick<TokenValidity, 'forget'>
  transaction: Database['transaction']
  usersOf: (transaction: Queryable) => Pick<UserRepository, 'lock' | 'findById' | 'setProperty'>
  report: ReportEvent
  clock: Clock
}

export type LogOut = ReturnType<typeof createLogOut>

/** Ends the session of a token; with `everywhere`, every token that was issued to the user so far. */
export function createLogOut(dependencies: LogOutDependencies) {
  const { endSession, validity, transaction, usersOf, report, clock } = dependencies

  const endAllSessions = (userid: string): Promise<void> =>
    transaction(async (db) => {
      const users = usersOf(db)
      if (await users.lock(userid)) await endTokens(users, userid, clock())
    })

  return async (claims: Claims, { everywhere }: { everywhere: boolean }): Promise<void> => {
    await (everywhere ? endAllSessions(claims.sub) : endSession(claims))
    // Here at once; on other replicas within REVOCATION_CACHE.
    validity.forget(claims)
    report({ name: everywhere ? 'sessions.logged_out' : 'session.logged_out', userid: claims.sub })
  }
}
