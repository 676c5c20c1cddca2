import { givenPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import { boundedText } from '@latchkey/shared/users/storable-text.ts'
import { MAX_LENGTH } from '@latchkey/shared/users/user.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import { TokenResponse } from '../../tokens/token-response.ts'
import type { Credentials } from './log-in.ts'

/** A character of an e-mail may be typed as a letter and three marks. */
const TYPED_CHARS = 4 * MAX_LENGTH.email

const LoginBody = z
  .object(
    {
      username: boundedText(TYPED_CHARS)
        .min(1, 'must not be empty')
        .describe('The e-mail address or the username, as LOGIN_FIELD says.'),
      password: givenPasswordSchema().min(1, 'must not be empty'),
    },
    'must be a JSON object',
  )
  .meta({ id: 'Credentials', examples: [{ username: 'ada@example.com', password: 'c0rrect-Horse!' }] })

export interface LoginRoutesOptions {
  hasSecondFactor: boolean
  /** `request` identifies the client, whose failed logins are limited. */
  logIn: (credentials: Credentials, request: FastifyRequest) => Promise<IssuedToken>
}

export const loginRoutes: FastifyPluginAsyncZod<LoginRoutesOptions> = async (
  app,
  { hasSecondFactor, logIn },
) => {
  app.post(
    '/login',
    {
      problems: [
        'invalid_credentials',
        ...(hasSecondFactor ? (['second_factor_required'] as const) : []),
        'overloaded',
      ],
      schema: {
        operationId: 'login',
        summary: 'Exchange credentials for a token',
        description:
          'The answer is the same whether the user or the password is wrong. Failed logins are limited by address and by account.',
        tags: ['login'],
        body: LoginBody,
        response: { 200: TokenResponse },
      },
    },
    (request) => logIn(request.body, request),
  )
}
