import { emailAddress } from '@latchkey/shared/users/email-address.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ProblemResponse } from '../../plugins/problem-details.ts'
import type { ConfirmCode } from './confirm-code.ts'
import type { NewPassword } from './set-password.ts'

const ResetToken = z
  .object({ token: z.string().describe('Identifies this reset; it is not an access token.') })
  .meta({ id: 'ResetToken' })

const token = () => z.string('must be a string').min(1, 'must not be empty').max(256, 'is too long')

const ResetRequest = z.object({ email: emailAddress() }, 'must be a JSON object').meta({ id: 'ResetRequest' })

const CodeConfirmation = z
  .object(
    {
      email: emailAddress(),
      code: z.string('must be a string of six digits').regex(/^[0-9]{6}$/, 'must be six digits'),
      token: token().optional(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'CodeConfirmation' })

const NewPasswordBody = z
  .object(
    {
      email: emailAddress(),
      token: token(),
      password: z
        .string('must be a string')
        .refine((text) => text.isWellFormed(), 'must be whole characters'),
    },
    'must be a JSON object',
  )
  .meta({ id: 'NewPassword' })

export interface PasswordResetRoutesOptions {
  /** `request` identifies the client, whose requests are limited. */
  requestReset: (email: string, request: FastifyRequest) => Promise<string>
  confirmCode: ConfirmCode
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
        summary: 'Request a code by e-mail',
        description: 'The response is the same whether the e-mail is known or not.',
        tags: ['password reset'],
        body: ResetRequest,
        response: { 200: ResetToken, 400: ProblemResponse, 429: ProblemResponse },
      },
    },
    async (request) => ({ token: await requestReset(request.body.email, request) }),
  )

  app.post(
    '/login/confirmcode',
    {
      schema: {
        summary: 'Confirm the code',
        tags: ['password reset'],
        body: CodeConfirmation,
        response: { 200: ResetToken, 400: ProblemResponse, 422: ProblemResponse },
      },
    },
    async ({ body }) => ({ token: await confirmCode(body) }),
  )

  app.post(
    '/login/resetpassword',
    {
      schema: {
        summary: 'Set a new password after confirmation',
        tags: ['password reset'],
        body: NewPasswordBody,
        response: { 200: ResetToken, 400: ProblemResponse, 422: ProblemResponse, 503: ProblemResponse },
      },
    },
    async (request) => ({ token: await setPassword(request.body, request) }),
  )
}
