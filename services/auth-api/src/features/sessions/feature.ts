import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { sessionRoutes } from './routes.ts'
import { createSessionRepository } from './session-repository.ts'
import { createUserSessions } from './user-sessions.ts'

/** Adds the list of the own sessions and the end of one, where SESSIONS is `on`. */
export async function addSessions(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  if (config.sessions.mode !== 'on') return
  const { db, localNow, loggedInClientOf } = core
  const { getTokenUser, revokeSession, validity } = core.tokens
  const sessions = createUserSessions({
    db,
    sessions: createSessionRepository(db),
    getTokenUser,
    revokeSession,
    validity,
    localNow,
  })
  await app.register(sessionRoutes, {
    list: (request) => sessions.list(loggedInClientOf(request)),
    end: (request, id) => sessions.end(loggedInClientOf(request), id),
  })
}
