import type { ExtensionRoutes } from '@latchkey/shared/extensions/extension.ts'
import { z } from 'zod'

const Pong = z.object({ result: z.literal('pong') }).meta({ id: 'Pong', examples: [{ result: 'pong' }] })
const AdminPong = z
  .object({ result: z.literal('pongadm') })
  .meta({ id: 'AdminPong', examples: [{ result: 'pongadm' }] })

/** Protected endpoints, one for every user and one for a role. */
export const routes: ExtensionRoutes = async (app) => {
  app.get(
    '/sampleprotected/ping',
    {
      auth: 'authenticated',
      schema: {
        operationId: 'ping',
        summary: 'Answers every authenticated user',
        description: "An example of `auth: 'authenticated'`.",
        tags: ['sample'],
        response: { 200: Pong },
      },
    },
    async () => ({ result: 'pong' as const }),
  )

  app.get(
    '/sampleprotected/pingadm',
    {
      auth: { role: 'admin' },
      schema: {
        operationId: 'pingAdmin',
        summary: 'Answers admins only',
        description: "An example of `auth: { role: 'admin' }`.",
        tags: ['sample'],
        response: { 200: AdminPong },
      },
    },
    async () => ({ result: 'pongadm' as const }),
  )
}
