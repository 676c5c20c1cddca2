import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { refreshTokenRoutes } from './refresh-routes.ts'
import { createRefreshToken } from './refresh-token.ts'

/** Adds `POST /refreshtoken`. */
export async function addRefreshToken(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { revocations, recordUse, revokeReusedSession, issueToken } = core.tokens
  const { refreshWindowSeconds, sessionLifetimeSeconds } = config.tokens
  const refreshToken = createRefreshToken({
    revocations,
    recordUse,
    revokeReusedSession,
    issueToken,
    refreshWindowSeconds,
    sessionLifetimeSeconds,
    localNow: core.localNow,
    sharedNow: core.databaseClock.now,
  })
  await app.register(refreshTokenRoutes, {
    refreshToken: (request) => refreshToken(core.loggedInClientOf(request)),
  })
}
