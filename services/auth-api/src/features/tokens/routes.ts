import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { ProblemResponse } from '../../plugins/problem-details.ts'
import type { RefreshToken } from './refresh-token.ts'
import { TokenResponse } from './token-response.ts'

export const tokenRoutes: FastifyPluginAsyncZod<{ refreshToken: RefreshToken }> = async (
  app,
  { refreshToken },
) => {
  app.post(
    '/refreshtoken',
    {
      auth: 'authenticated',
      schema: {
        summary: 'Exchange a token in its last minutes for a new one',
        tags: ['tokens'],
        response: { 200: TokenResponse, 401: ProblemResponse },
      },
    },
    (request) => refreshToken(request.jwt),
  )
}
