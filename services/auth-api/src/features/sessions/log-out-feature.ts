import type { FastifyInstance } from 'fastify'
import type { Core } from '../../core.ts'
import { createLogOut } from './log-out.ts'
import { logOutRoutes } from './log-out-routes.ts'

/** Adds `POST /logout`. */
export async function addLogOut(app: FastifyInstance, core: Core): Promise<void> {
  const { transaction, usersIn, localNow } = core
  const { revokeSession, validity, lockUser } = core.tokens
  const logOut = createLogOut({ revokeSession, validity, transaction, usersIn, lockUser, localNow })
  await app.register(logOutRoutes, {
    logOut: (request, options) => logOut(core.loggedInClientOf(request), options),
  })
}
