import type { ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { currentPasswordSchema, newPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import { TokenResponse } from '../../tokens/token-response.ts'
import type { PasswordChange } from './change-password.ts'

const PasswordChangeBody = z
  .object(
    {
      current_password: currentPasswordSchema(),
      password: newPasswordSchema(),
    },
    'must be a JSON object',
  )
  .meta({
    id: 'PasswordChange',
    examples: [{ current_password: 'c0rrect-Horse!', password: 'N3w-p4ssw0rd!' }],
  })

export interface ChangePasswordRoutesOptions {
  freshFactorProblems: readonly ErrorCode[]
  /** `request` identifies the client, whose wrong passwords are limited. */
  changePassword: (change: PasswordChange, request: FastifyRequest) => Promise<IssuedToken>
}

export const changePasswordRoutes: FastifyPluginAsyncZod<ChangePasswordRoutesOptions> = async (
  app,
  { freshFactorProblems, changePassword },
) => {
  app.put(
    '/profile/password',
    {
      auth: 'authenticated',
      problems: [...freshFactorProblems, 'wrong_password', 'password_refused', 'overloaded'],
      schema: {
        operationId: 'changePassword',
        summary: "Change the caller's password",
        description:
          'Ends every token of the user, the one of this request too; the response has a new one. A wrong current password counts as a failed login.',
        tags: ['profile'],
        body: PasswordChangeBody,
        response: { 200: TokenResponse },
      },
    },
    (request) => {
      const { current_password: currentPassword, password } = request.body
      return changePassword({ currentPassword, password }, request)
    },
  )
}
