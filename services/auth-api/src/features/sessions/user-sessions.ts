import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import { isIssuedAfterValidFrom, type User } from '@latchkey/shared/users/user.ts'
import type { Caller } from '../../tokens/claims.ts'
import { sessionIdOf } from '../../tokens/revocation-repository.ts'
import type { RevokeSession } from '../../tokens/revoke-session.ts'
import type { GetTokenUser, TokenValidity } from '../../tokens/token-validity.ts'
import type { SessionRepository, UserSession } from './session-repository.ts'

export interface UserSessionsDependencies {
  db: Queryable
  sessions: Pick<SessionRepository, 'list' | 'find'>
  getTokenUser: GetTokenUser
  revokeSession: RevokeSession
  validity: Pick<TokenValidity, 'forgetSession'>
  localNow: Clock
}

/** A session as its owner sees it. */
export interface ListedSession extends UserSession {
  /** Whether it is the session of the token that asks. */
  isCurrent: boolean
}

/** Creates the functions that list the sessions of a user to their owner, and end one of them. */
export function createUserSessions(dependencies: UserSessionsDependencies) {
  const { db, sessions, getTokenUser, revokeSession, validity, localNow } = dependencies

  return {
    /** Lists the sessions of a token's user that have not ended; throws `invalid_token` when that of the token has. */
    async list({ claims }: Caller): Promise<ListedSession[]> {
      const currentId = sessionIdOf(claims)
      const [user, found] = await Promise.all([
        getTokenUser(db, claims),
        sessions.list(claims.sub, currentId, new Date(localNow())),
      ])
      return found
        .filter((session) => isOpen(user, session))
        .map((session) => ({ ...session, isCurrent: session.id === currentId }))
    },

    /**
     * Ends a session of a token's user: this replica refuses its tokens at once. Throws `session_not_found` for one that
     * has ended or that somebody else has.
     */
    async end({ claims, audit }: Caller, id: string): Promise<void> {
      const [user, session] = await Promise.all([
        getTokenUser(db, claims),
        sessions.find(claims.sub, id, new Date(localNow())),
      ])
      if (!session || !isOpen(user, session))
        throw new AppError(
          'session_not_found',
          'You have no such session, or it has ended; GET /sessions lists them',
        )
      await revokeSession(id, toNumericDate(session.expiresAt.getTime()))
      validity.forgetSession(id)
      audit.report({ name: 'session.ended', userid: user.userid })
    },
  }
}

/** Whether the user's valid-from time leaves the newest token of a session valid. */
const isOpen = (user: User, { jti, validFrom }: UserSession): boolean =>
  isIssuedAfterValidFrom(user, { valid_from: validFrom, jti })
