import { storableText } from '@latchkey/shared/users/storable-text.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ProblemResponse } from '../../plugins/problem-details.ts'
import { TokenResponse } from '../tokens/routes.ts'
import type { LogIn } from './log-in.ts'

const LoginBody = z
  .object(
    {
      username: storableText()
        .min(1, 'must not be empty')
        .describe('The e-mail or the username, as LOGIN_FIELD says.'),
      password: z.string('must be a string').min(1, 'must not be empty'),
    },
    'must be a JSON object',
  )
  .meta({ id: 'Credentials' })

export const loginRoutes: FastifyPluginAsyncZod<{ logIn: LogIn }> = async (app, { logIn }) => {
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
    (request) => app.limitLogin(request, request.body.username, () => logIn(request.body)),
  )
}
