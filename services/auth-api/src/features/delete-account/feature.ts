import { givenPassword } from '@latchkey/shared/passwords/password-policy.ts'
import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createDeleteAccount } from './delete-account.ts'

const AccountDeletion = z
  .object({ currentPassword: givenPassword().min(1, 'must not be empty') }, 'must be a JSON object')
  .meta({ id: 'AccountDeletion', examples: [{ currentPassword: 'c0rrect-Horse!' }] })

/** Adds `POST /profile/delete`, where ACCOUNT_DELETION is `on`. */
export function addDeleteAccount(app: FastifyInstance, config: Config, core: Core): void {
  if (config.profile.deletion !== 'on') return
  const { db, usersIn, notify, clock, callerOf, requireCurrentPassword, freshFactorProblems } = core
  const { getTokenUser, lockUser, validity } = core.tokens
  const deleteAccount = createDeleteAccount({
    db,
    usersIn,
    getTokenUser,
    lockUser,
    notify,
    validity,
    clock,
  })

  app.withTypeProvider<ZodTypeProvider>().post(
    '/profile/delete',
    {
      auth: 'authenticated',
      problems: [...freshFactorProblems, 'wrong_password', 'overloaded'],
      schema: {
        operationId: 'deleteAccount',
        summary: "Delete the caller's account",
        description:
          'Only where ACCOUNT_DELETION is `on`. Ends every token and code of the user, who gets a mail. The data stays in the database: an admin can restore the account. A wrong password counts as a failed login.',
        tags: ['profile'],
        body: AccountDeletion,
        response: { 204: z.undefined().describe('The account is deleted.') },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request)
      const { currentPassword } = request.body
      await deleteAccount(caller, (user) =>
        requireCurrentPassword(user, currentPassword, { request, ...caller }),
      )
      reply.code(204)
    },
  )
}
