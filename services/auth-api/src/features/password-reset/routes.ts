import { newPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import { emailAddress } from '@latchkey/shared/users/email-address.ts'
import { z } from 'zod'
import type { FeatureRoutes } from '../../http/feature-routes.ts'
import { requestTokenSchema, sixDigitCodeSchema } from '../one-time-codes/code-schemas.ts'
import { createConfirmCode } from './confirm-code.ts'
import { createResetCounter } from './count-resets.ts'
import { createRequestReset } from './request-reset.ts'
import { createSetPassword } from './set-password.ts'

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

/** Adds the three steps of a password reset. */
export const passwordResetRoutes: FeatureRoutes = async (app, { core, config }) => {
  const requestReset = createRequestReset(core, config.reset)
  const confirmCode = createConfirmCode(core, config.reset)
  const setPassword = createSetPassword(core, config)
  const count = createResetCounter(core.registry)

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
    async (request) => ({
      token: await count('requested', requestReset(request.body.email, core.clientOf(request))),
    }),
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
    async (request) => ({
      token: await count('confirmed', confirmCode(request.body, core.clientOf(request))),
    }),
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
    async (request) => ({
      token: await count('completed', setPassword(request.body, core.clientOf(request))),
    }),
  )
}
