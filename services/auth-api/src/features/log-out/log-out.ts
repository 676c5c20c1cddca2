import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { endTokens } from '@latchkey/shared/users/valid-from.ts'
import type { ReportEvent } from '../../account-events.ts'
import type { Claims } from '../tokens/claims.ts'
import type { RevocationRepository } from '../tokens/revocation-repository.ts'
import type { TokenValidity } from '../tokens/token-validity.ts'

export interface LogOutDependencies {
  revocations: Pick<RevocationRepository, 'endSession'>
  validity: Pick<TokenValidity, 'forget'>
  transaction: Database['transaction']
  usersOf: (transaction: Queryable) => Pick<UserRepository, 'lock' | 'findById' | 'setProperty'>
  /** Lifetime of a token. */
  lifetimeSeconds: number
  report: ReportEvent
  clock: Clock
}

export type LogOut = ReturnType<typeof createLogOut>

/**
 * Ends the session of a token: that token, what it was refreshed from and what it was refreshed to. With `everywhere`,
 * ends every token that was issued to the user so far.
 */
export function createLogOut(dependencies: LogOutDependencies) {
  const { revocations, validity, transaction, usersOf, lifetimeSeconds, report, clock } = dependencies

  async function endSession(claims: Claims): Promise<void> {
    const now = clock()
    const lastExpiry = Math.max(claims.exp, toNumericDate(now) + lifetimeSeconds)
    await revocations.endSession(claims, new Date(now), new Date(lastExpiry * 1000))
    report({ name: 'session.logged_out', userid: claims.sub })
  }

  async function endAllSessions({ sub: userid }: Claims): Promise<void> {
    await transaction(async (db) => {
      const users = usersOf(db)
      if (await users.lock(userid)) await endTokens(users, userid, clock())
    })
    report({ name: 'sessions.logged_out', userid })
  }

  return async (claims: Claims, { everywhere }: { everywhere: boolean }): Promise<void> => {
    await (everywhere ? endAllSessions(claims) : endSession(claims))
    // Here at once; on other replicas within REVOCATION_CACHE.
    validity.forget(claims)
  }
}
