import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ProblemResponse } from '../../plugins/problem-details.ts'
import type { RefreshToken } from './refresh-token.ts'

/** What `/login` and `/refreshtoken` answer. */
export const TokenResponse = z
  .object({
    token: z.string().describe('JWT, HS512. Send it as `Authorization: Bearer <token>`.'),
    data: z.object({ userid: z.guid(), name: z.string(), role: z.string() }),
  })
  .meta({ id: 'Token' })

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
