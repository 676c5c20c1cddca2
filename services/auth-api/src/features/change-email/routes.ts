import type { User } from '@latchkey/shared/users/user.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { sixDigitCode } from '../../one-time-codes/code-schemas.ts'
import { Profile, toProfile } from '../profile/profile.ts'

const EmailConfirmation = z
  .object({ code: sixDigitCode() }, 'must be a JSON object')
  .meta({ id: 'EmailConfirmation', examples: [{ code: '123456' }] })

export interface ChangeEmailRoutesOptions {
  confirmChange: (request: FastifyRequest, code: string) => Promise<User>
  /** The names of the properties that a profile shows; `*` for all but internal ones. */
  shownProperties: readonly string[]
}

export const changeEmailRoutes: FastifyPluginAsyncZod<ChangeEmailRoutesOptions> = async (
  app,
  { confirmChange, shownProperties },
) => {
  app.post(
    '/profile/confirmemail',
    {
      auth: 'authenticated',
      problems: ['email_change_refused', 'email_taken'],
      schema: {
        operationId: 'confirmEmail',
        summary: 'Confirm the new e-mail by the code of its mail',
        description:
          'Only where EMAIL_CHANGE is `confirmed`. Ends open password resets and all tokens but the one of this request. RESET_ATTEMPTS wrong codes end the change.',
        tags: ['profile'],
        body: EmailConfirmation,
        response: { 200: Profile },
      },
    },
    async (request) => toProfile({ user: await confirmChange(request, request.body.code) }, shownProperties),
  )
}
