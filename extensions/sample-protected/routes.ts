import { ProblemResponse } from '@latchkey/auth-api/src/plugins/problem-details.ts'
import type { ExtensionRoutes } from '@latchkey/shared/extensions/extension.ts'
import { z } from 'zod'

/** Protected endpoints, one for every user and one for a role. */
export const routes: ExtensionRoutes = async (app) => {
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
