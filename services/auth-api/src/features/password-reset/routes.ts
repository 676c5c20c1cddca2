import { newPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import { emailAddress } from '@latchkey/shared/users/email-address.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { requestTokenSchema, sixDigitCodeSchema } from '../one-time-codes/code-schemas.ts'
import type { CodeConfirmation } from './confirm-code.ts'
import type { NewPassword } from './set-password.ts'

const EMAIL = 'ada@example.com'
const TOKEN = 'kq3t0bV7mYb8bFZ1Cw2nUj5xTg9rQeLs4hPzVdMi6oA'

const ResetToken = z
  .object({ token: z.string().describe('Identifies this reset; it is not an access token.') })
  .meta({ id: 'ResetToken', description: 'The token of a password reset.', examples: [{ token: TOKEN }] })

const ResetRequest = z
  .object({ email: emailAddress() }, 'must be a JSON object')
  .meta({ id: 'ResetRequest', examples: [{ email: EMAIL }] })

const CodeConfirmationBody = z
  .object(
    {
      email: emailAddress(),
      code: sixDigitCodeSchema(),
      token: requestTokenSchema()
        .optional()
        .describe(
          'The token that the request of the reset returned. Without it the newest open reset of the e-mail is confirmed.',
        ),
    },
    'must be a JSON object',
  )
  .meta({ id: 'CodeConfirmation', examples: [{ email: EMAIL, code: '042711', token: TOKEN }] })

const NewPasswordBody = z
  .object(
    {
      email: emailAddress(),
      token: requestTokenSchema().describe('The token that the confirmation of the code returned.'),
      password: newPasswordSchema(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'NewPassword', examples: [{ email: EMAIL, token: TOKEN, password: 'c0rrect-Horse!' }] })

export interface PasswordResetRoutesOptions {
  /** `request` identifies the client, whose requests are limited. */
  requestReset: (email: string, request: FastifyRequest) => Promise<string>
  confirmCode: (given: CodeConfirmation, request: FastifyRequest) => Promise<string>
  setPassword: (given: NewPassword, request: FastifyRequest) => Promise<string>
}

export const passwordResetRoutes: FastifyPluginAsyncZod<PasswordResetRoutesOptions> = async (
  app,
  { requestReset, confirmCode, setPassword },
) => {
  app.post(
    '/login/resetrequest',
    {
      schema: {
        operationId: 'requestPasswordReset',
        summary: 'Request a code by e-mail',
        description: 'The response is the same whether the e-mail is known or not.',
        tags: ['password reset'],
        body: ResetRequest,
        response: { 200: ResetToken },
      },
    },
    async (request) => ({ token: await requestReset(request.body.email, request) }),
  )

  app.post(
    '/login/confirmcode',
    {
      problems: ['reset_refused'],
      schema: {
        operationId: 'confirmPasswordResetCode',
        summary: 'Confirm the code',
        description:
          'The token of the response sets the new password. RESET_ATTEMPTS wrong codes end the reset.',
        tags: ['password reset'],
        body: CodeConfirmationBody,
        response: { 200: ResetToken },
      },
    },
    async (request) => ({ token: await confirmCode(request.body, request) }),
  )

  app.post(
    '/login/resetpassword',
    {
      problems: ['reset_refused', 'password_refused', 'overloaded'],
      schema: {
        operationId: 'resetPassword',
        summary: 'Set a new password after confirmation',
        description: 'Ends the reset and every token of the user: a login with the new password follows.',
        tags: ['password reset'],
        body: NewPasswordBody,
        response: { 200: ResetToken },
      },
    },
    async (request) => ({ token: await setPassword(request.body, request) }),
  )
}
