import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createChangePassword } from './change-password.ts'
import { changePasswordRoutes } from './change-password-routes.ts'
import { freshFactorProblems } from './fresh-factor-problems.ts'

/** Adds `PUT /profile/password`. */
export async function addChangePassword(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { transaction, guard, passwords, notify, localNow } = core
  const { validity, issueToken } = core
  const changePassword = createChangePassword({
    transaction,
    guard,
    passwords,
    notify,
    validity,
    issueToken,
    policy: config.policy,
    localNow,
  })
  await app.register(changePasswordRoutes, {
    freshFactorProblems: freshFactorProblems(core),
    changePassword: (change, request) => changePassword(change, core.loggedInClientOf(request)),
  })
}
