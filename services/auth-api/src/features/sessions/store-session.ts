import type { Queryable } from '@latchkey/shared/database/database.ts'
import type { DependencyFailures } from '@latchkey/shared/health/dependency-failures.ts'
import type { Logger } from 'pino'
import type { Claims } from '../../tokens/claims.ts'
import type { StoreSession, TokenOrigin } from '../../tokens/issue-token.ts'
import { sessionIdOf } from '../../tokens/revocation-repository.ts'
import { createSessionRepository, type StoredSession } from './session-repository.ts'

export interface StoreSessionDependencies {
  db: Queryable
  failures: Pick<DependencyFailures, 'reportNamed'>
  logger: Pick<Logger, 'warn'>
}

/** Creates the function that stores the session of a new token, with one statement. */
export function createStoreSession({ db, failures, logger }: StoreSessionDependencies): StoreSession {
  const sessions = createSessionRepository(db)
  return async (claims, origin) => {
    try {
      await sessions.store(toSession(claims, origin))
    } catch (error) {
      // Without its row a session works, and its next refresh stores the row: a database that cannot be written refuses no login.
      if (!failures.reportNamed(error))
        logger.warn({ err: error }, 'a session could not be stored; its next refresh will try again')
    }
  }
}

/** Returns the session of a token that was issued just now. */
export const toSession = (claims: Claims, { address, agent }: TokenOrigin): StoredSession => ({
  id: sessionIdOf(claims),
  userid: claims.sub,
  jti: claims.jti,
  validFrom: claims.valid_from,
  createdAt: new Date(claims.auth_time * 1000),
  refreshedAt: new Date(claims.iat * 1000),
  expiresAt: new Date(claims.exp * 1000),
  address,
  agent,
  amr: claims.amr,
  authTime: new Date(claims.auth_time * 1000),
  refresh: undefined,
})
