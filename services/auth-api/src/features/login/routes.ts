import { storableText } from '@latchkey/shared/users/storable-text.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ProblemResponse } from '../../plugins/problem-details.ts'
import type { IssuedToken } from '../tokens/issue-token.ts'
import { TokenResponse } from '../tokens/token-response.ts'
import type { Credentials } from './log-in.ts'

const LoginBody = z
  .object(
    {
      username: storableText()
        .min(1, 'must not be empty')
        .describe('The e-mail address or the username, as LOGIN_FIELD says.'),
      password: z.string('must be a string').min(1, 'must not be empty'),
    },
    'must be a JSON object',
  )
  .meta({ id: 'Credentials' })

export interface LoginRoutesOptions {
  /** `request` identifies the client, whose failed logins are limited. */
  logIn: (credentials: Credentials, request: FastifyRequest) => Promise<IssuedToken>
}

export const loginRoutes: FastifyPluginAsyncZod<LoginRoutesOptions> = async (app, { logIn }) => {
  app.post(
    '/login',
    {
      schema: {
        summary: 'Exchange credentials for a token',
        tags: ['tokens'],
        body: LoginBody,
        response: {
          200: TokenResponse,
          400: ProblemResponse,
          401: ProblemResponse,
          429: ProblemResponse,
          503: ProblemResponse,
        },
      },
    },
    (request) => logIn(request.body, request),
  )
}
