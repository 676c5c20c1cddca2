import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import type { IssueLogin, IssueToken, SignToken } from '../../tokens/issue-token.ts'
import {
  createRefreshSalt,
  createRefreshToken,
  pairOf,
  refreshHashOf,
  sidOf,
} from '../../tokens/refresh-token.ts'
import { findRefreshEnd, type RefreshLifetimes } from './refresh-end.ts'
import { createSessionRepository } from './session-repository.ts'
import { toSession } from './store-session.ts'

export interface IssueLoginDependencies {
  db: Queryable
  signToken: SignToken
  issueToken: IssueToken
  /** The clock of the database, which all replicas share. */
  sharedNow: Clock
}

/** Creates the function that answers a login. */
export function createIssueLogin(
  lifetimes: RefreshLifetimes,
  { db, signToken, issueToken, sharedNow }: IssueLoginDependencies,
): IssueLogin {
  return async (user, readAt, origin, { remember: form, ...login } = {}) => {
    if (form === undefined) return issueToken(user, readAt, origin, login)
    const token = createRefreshToken()
    const hash = refreshHashOf(token)
    const session = { ...login, sid: sidOf(token), jti: pairOf(hash) }
    const { issued, claims } = await signToken(user, readAt, session)
    const begun = toSession(claims, origin)
    const { refreshUntil, storedUntil } = findRefreshEnd(begun, claims, lifetimes)
    // No token came before this one, so its first use ends none, and is not recorded.
    const usedAt = new Date(sharedNow())
    const refresh = { hash, salt: createRefreshSalt(), form, usedAt, previousUsedAt: usedAt }
    try {
      await createSessionRepository(db).store({ ...begun, expiresAt: storedUntil, refresh })
    } catch (cause) {
      if (cause instanceof AppError && cause.code === 'unavailable') throw cause
      throw new AppError('unavailable', 'The session cannot be stored', { cause })
    }
    return { ...issued, refresh: { token, expiresAt: refreshUntil, form } }
  }
}
