import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { endTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Caller } from '../tokens/caller.ts'
import type { EndSession } from '../tokens/end-session.ts'
import type { TokenValidity } from '../tokens/token-validity.ts'

export interface LogOutDependencies {
  endSession: EndSession
  validity: Pick<TokenValidity, 'forget'>
  transaction: Database['transaction']
  usersOf: (transaction: Queryable) => Pick<UserRepository, 'lock' | 'findById' | 'setProperty'>
  clock: Clock
}

export type LogOut = ReturnType<typeof createLogOut>

/** Ends the session of a token; with `everywhere`, every token that was issued to the user so far. */
export function createLogOut(dependencies: LogOutDependencies) {
  const { endSession, validity, transaction, usersOf, clock } = dependencies

  async function endOneSession({ claims, audit }: Caller): Promise<void> {
    await endSession(claims)
    audit.report({ name: 'session.logged_out', userid: claims.sub })
  }

  const endAllSessions = ({ claims: { sub: userid, iat: issuedAt }, audit }: Caller): Promise<void> =>
    transaction(async (db) => {
      const users = usersOf(db)
      if (!(await users.lock(userid))) return
      await endTokens(users, userid, clock(), { issuedAt })
      await audit.write(db, { name: 'sessions.logged_out', userid })
    })

  return async (caller: Caller, { everywhere }: { everywhere: boolean }): Promise<void> => {
    await (everywhere ? endAllSessions(caller) : endOneSession(caller))
    // Here at once; on other replicas within REVOCATION_CACHE.
    validity.forget(caller.claims)
  }
}
