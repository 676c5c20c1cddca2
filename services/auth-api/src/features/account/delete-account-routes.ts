import type { ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { currentPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'

const AccountDeletion = z
  .object({ current_password: currentPasswordSchema() }, 'must be a JSON object')
  .meta({ id: 'AccountDeletion', examples: [{ current_password: 'c0rrect-Horse!' }] })

export interface DeleteAccountRoutesOptions {
  freshFactorProblems: readonly ErrorCode[]
  /** `request` identifies the client, whose wrong passwords are limited. */
  deleteAccount: (currentPassword: string | undefined, request: FastifyRequest) => Promise<void>
}

export const deleteAccountRoutes: FastifyPluginAsyncZod<DeleteAccountRoutesOptions> = async (
  app,
  { freshFactorProblems, deleteAccount },
) => {
  app.post(
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
      await deleteAccount(request.body.current_password, request)
      reply.code(204)
    },
  )
}
