import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import { TokenResponse } from '../../tokens/token-response.ts'

export interface RefreshTokenRoutesOptions {
  refreshToken: (request: FastifyRequest) => Promise<IssuedToken>
}

export const refreshTokenRoutes: FastifyPluginAsyncZod<RefreshTokenRoutesOptions> = async (
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
          "The new token has the user's current name and role. As long as the new one was not used, the request can be repeated, as after a lost answer: the old token is valid until ten seconds after the first use. A refresh with it after that ends the session. REFRESH_WINDOW says how long the last minutes are.",
        tags: ['token'],
        response: { 200: TokenResponse },
      },
    },
    (request) => refreshToken(request),
  )
}
