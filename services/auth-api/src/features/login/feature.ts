import { DEMO_PASSWORD, DEMO_USERS, hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createLoginCounter } from '../health/service-metrics.ts'
import { type Credentials, createLogIn } from './log-in.ts'
import { loginRoutes } from './routes.ts'

/** Adds `POST /login`. */
export async function addLogin(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { users, passwords, tokens, logger, registry, localNow } = core
  const { secondFactor, notifyNewClient, notifyFailedLogin } = core
  const { limitLogin, accountKey } = core.limits
  const count = createLoginCounter(registry)
  const logIn = createLogIn({
    limitLogin,
    users,
    replaceHash: users.replaceHash,
    passwords,
    reportUnusableHash: (userid, reason) =>
      logger.warn(
        { userid },
        `stored hash cannot be verified: it ${reason}; the user can reset the password, or Users::setPassword sets one`,
      ),
    countFailedLogin: (username, userid, audit) =>
      notifyFailedLogin({ account: accountKey(username), userid, audit }),
    notifyNewClient,
    requireSecondFactor: async (user, audit) => secondFactor?.requireAtLogin(user, audit),
    issueToken: tokens.issueToken,
    field: config.login.field,
    localNow,
  })
  await app.register(loginRoutes, {
    hasSecondFactor: secondFactor !== undefined,
    logIn: (credentials, request) => count(logIn(credentials, core.clientOf(request))),
  })
}

/** The credentials of a demo user where there are demo users, as an example to try. */
export function demoLogin({ environment, login }: Config): Credentials | undefined {
  const user = DEMO_USERS.find(({ role }) => role === 'user')
  return user && hasDemoUsers(environment)
    ? { username: user[login.field], password: DEMO_PASSWORD }
    : undefined
}
