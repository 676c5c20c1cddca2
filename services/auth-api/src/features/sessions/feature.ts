import { AppError } from '@latchkey/shared/app-error.ts'
import type { FastifyInstance, preSerializationAsyncHookHandler, RouteOptions } from 'fastify'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { TokenResponse } from '../../tokens/token-response.ts'
import { sessionRoutes } from './routes.ts'
import { createSessionRepository } from './session-repository.ts'
import { createUserSessions } from './user-sessions.ts'

/**
 * Adds the list of the own sessions and the end of one, where SESSIONS is `on`. Each route that is added later and answers
 * with a token then stores the session of that token.
 */
export async function addSessions(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  if (config.sessions.mode !== 'on') return
  const { db, clock, failures, auditOf, callerOf } = core
  const { requireValid, endSession, validity } = core.tokens
  const sessions = createUserSessions({
    db,
    sessions: createSessionRepository(db),
    requireValid,
    endSession,
    validity,
    clock,
  })

  const storeSession: preSerializationAsyncHookHandler = async (request, reply, payload) => {
    if (reply.statusCode !== 200) return payload
    // Without its row a session works, and its next refresh stores the row: a database that cannot be written refuses no login.
    const { token } = TokenResponse.parse(payload)
    await sessions.store(token, auditOf(request)).catch((error: unknown) => {
      if (error instanceof AppError && error.dependency) failures.report(error.dependency, error)
      else request.log.warn({ err: error }, 'a session could not be stored; its next refresh will try again')
    })
    return payload
  }
  app.addHook('onRoute', (route) => {
    if (answersToken(route)) route.preSerialization = [storeSession, route.preSerialization ?? []].flat()
  })

  await app.register(sessionRoutes, {
    list: (request) => sessions.list(callerOf(request)),
    end: (request, id) => sessions.end(callerOf(request), id),
  })
}

/** Whether a route answers with a token, also with more beside it. */
function answersToken({ schema }: RouteOptions): boolean {
  const response = (schema?.response as Record<string, unknown> | undefined)?.[200]
  return response instanceof z.ZodObject && response.shape.token === TokenResponse.shape.token
}
