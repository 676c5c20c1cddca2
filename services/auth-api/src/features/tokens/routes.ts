import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { RefreshToken } from './refresh-token.ts'
import { TokenResponse } from './token-response.ts'

export const tokenRoutes: FastifyPluginAsyncZod<{ refreshToken: RefreshToken }> = async (
  app,
  { refreshToken },
) => {
  app.post(
    '/refreshtoken',
    {
      auth: 'signed',
      problems: ['token_not_refreshable'],
      schema: {
        operationId: 'refreshToken',
        summary: 'Exchange a token in its last minutes for a new one',
        description:
          "The new token has the user's current name and role. The old one ends a few seconds later; its use after that ends the session. REFRESH_WINDOW says how long the last minutes are.",
        tags: ['token'],
        response: { 200: TokenResponse },
      },
    },
    (request) => refreshToken(request.jwt),
  )
}
