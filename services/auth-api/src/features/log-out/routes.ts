import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ProblemResponse } from '../../plugins/problem-details.ts'
import type { LogOut } from './log-out.ts'

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
  .meta({ id: 'Logout' })

export const logOutRoutes: FastifyPluginAsyncZod<{ logOut: LogOut }> = async (app, { logOut }) => {
  app.post(
    '/logout',
    {
      auth: 'authenticated',
      // Most clients send no body.
      preValidation: (request, _reply, done) => {
        request.body ??= {}
        done()
      },
      schema: {
        summary: "End the caller's session",
        tags: ['tokens'],
        body: LogoutBody,
        response: {
          204: z.undefined().describe('The session has ended.'),
          400: ProblemResponse,
          401: ProblemResponse,
          503: ProblemResponse,
        },
      },
    },
    async (request, reply) => {
      await logOut(request.jwt, { everywhere: request.body.everywhere ?? false })
      reply.code(204)
    },
  )
}
