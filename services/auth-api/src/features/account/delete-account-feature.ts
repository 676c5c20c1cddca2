import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createDeleteAccount } from './delete-account.ts'
import { deleteAccountRoutes } from './delete-account-routes.ts'
import { freshFactorProblems } from './fresh-factor-problems.ts'

/** Adds `POST /profile/delete`, where ACCOUNT_DELETION is `on`. */
export async function addDeleteAccount(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  if (config.profile.deletion !== 'on') return
  const { guard, notify, localNow } = core
  const deleteAccount = createDeleteAccount({ guard, notify, validity: core.validity, localNow })
  await app.register(deleteAccountRoutes, {
    freshFactorProblems: freshFactorProblems(core),
    deleteAccount: (currentPassword, request) =>
      deleteAccount(currentPassword, core.loggedInClientOf(request)),
  })
}
