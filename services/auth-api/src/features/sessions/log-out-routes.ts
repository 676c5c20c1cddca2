import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { FACTOR_NOT_YET_REQUIRED } from '../../http/authenticate.ts'

const LogoutBody = z
  .object(
    {
      everywhere: z
        .boolean('must be true or false')
        .optional()
        .describe("Ends every token of the user instead of the caller's session."),
    },
    'must be a JSON object',
  )
  .meta({ id: 'Logout', examples: [{ everywhere: false }] })

export interface LogOutRoutesOptions {
  logOut: (request: FastifyRequest, options: { everywhere: boolean }) => Promise<void>
}

export const logOutRoutes: FastifyPluginAsyncZod<LogOutRoutesOptions> = async (app, { logOut }) => {
  app.post(
    '/logout',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      // Most clients send no body, which Fastify validates as null.
      preValidation: (request, _reply, done) => {
        request.body ??= {}
        done()
      },
      schema: {
        operationId: 'logout',
        summary: "End the caller's session",
        description:
          'The tokens of a login and of its refreshes are refused from now on, on other replicas within REVOCATION_CACHE. The body may be omitted.',
        tags: ['login'],
        body: LogoutBody.optional(),
        response: { 204: z.undefined().describe('The session has ended.') },
      },
    },
    async (request, reply) => {
      await logOut(request, { everywhere: request.body?.everywhere ?? false })
      reply.code(204)
    },
  )
}
