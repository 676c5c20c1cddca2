import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import { isIssuedAfterValidFrom, type User } from '@latchkey/shared/users/user.ts'
import type { Core } from '../../core.ts'
import type { Caller } from '../../tokens/claims.ts'
import { sessionIdOf } from '../../tokens/revocation-repository.ts'
import { createSessionRepository, type StoredSession } from './session-repository.ts'

type SessionsCore = Pick<Core, 'db' | 'getTokenUser' | 'revokeSession' | 'validity' | 'localNow'>

/** A session as its owner sees it. */
export interface ListedSession extends StoredSession {
  /** True for the session of the token that asks. */
  isCurrent: boolean
}

/** Lists the sessions of a token's user that have not ended; throws `invalid_token` when that of the token has. */
export async function listSessions(core: SessionsCore, { claims }: Caller): Promise<ListedSession[]> {
  const { db, getTokenUser, localNow } = core
  const currentId = sessionIdOf(claims)
  const [user, found] = await Promise.all([
    getTokenUser(db, claims),
    createSessionRepository(db).list(claims.sub, currentId, new Date(localNow())),
  ])
  return found
    .filter((session) => isOpen(user, session))
    .map((session) => ({ ...session, isCurrent: session.id === currentId }))
}

/**
 * Ends a session of a token's user: this replica refuses its tokens at once. Throws `session_not_found` for one that has
 * ended or that somebody else has.
 */
export async function endSession(core: SessionsCore, { claims, audit }: Caller, id: string): Promise<void> {
  const { db, getTokenUser, revokeSession, validity, localNow } = core
  const [user, session] = await Promise.all([
    getTokenUser(db, claims),
    createSessionRepository(db).find(claims.sub, id, new Date(localNow())),
  ])
  if (!session || !isOpen(user, session))
    throw new AppError('session_not_found', 'You have no such session, or it has ended')
  await revokeSession(id, toNumericDate(session.expiresAt.getTime()))
  validity.forgetSession(id)
  audit.report({ name: 'session.ended', userid: user.userid })
}

/** True where the user's valid-from time leaves the newest token of a session valid. */
const isOpen = (user: User, { jti, validFrom }: StoredSession): boolean =>
  isIssuedAfterValidFrom(user, { valid_from: validFrom, jti })
