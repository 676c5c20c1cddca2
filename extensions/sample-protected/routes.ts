import { ProblemResponse } from '@latchkey/auth-api/src/plugins/problem-details.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'

/** Examples of guarded handlers, to copy from: one for every user, one for a role. */
export const sampleProtectedRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/sampleprotected/ping',
    {
      auth: 'authenticated',
      schema: {
        summary: 'Answers every authenticated user',
        tags: ['sample'],
        response: { 200: z.object({ result: z.literal('pong') }), 401: ProblemResponse },
      },
    },
    async () => ({ result: 'pong' as const }),
  )

  app.get(
    '/sampleprotected/pingadm',
    {
      auth: { role: 'admin' },
      schema: {
        summary: 'Answers admins only',
        tags: ['sample'],
        response: {
          200: z.object({ result: z.literal('pongadm') }),
          401: ProblemResponse,
          403: ProblemResponse,
        },
      },
    },
    async () => ({ result: 'pongadm' as const }),
  )
}
