import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Readiness } from '@latchkey/shared/health/readiness.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { sendProblem, toProblem } from '../../http/problem-details.ts'

const HealthResponse = z
  .object({
    status: z.literal('ok'),
    checks: z
      .record(z.string(), z.string())
      .describe('The result of each check; none of a process that only runs.'),
  })
  .meta({
    id: 'Health',
    description: 'Healthy.',
    examples: [{ status: 'ok', checks: { database: 'ok', queue: 'ok' } }],
  })

export const healthRoutes: FastifyPluginAsyncZod<{ readiness: Readiness }> = async (app, { readiness }) => {
  app.get(
    '/health/live',
    {
      config: { isProbe: true },
      schema: {
        operationId: 'isAlive',
        summary: 'The process runs',
        description: 'A process that does not answer is to be restarted.',
        tags: ['health'],
        response: { 200: HealthResponse },
      },
    },
    async () => ({ status: 'ok' as const, checks: {} }),
  )

  app.get(
    '/health/ready',
    {
      config: { isProbe: true },
      problems: ['unavailable'],
      schema: {
        operationId: 'isReady',
        summary: 'The process is ready for requests',
        description:
          'A process that is not ready is to get no requests. The problem names the checks that failed.',
        tags: ['health'],
        response: { 200: HealthResponse },
      },
    },
    async (request, reply) => {
      const { isReady, checks } = await readiness.read()
      if (isReady) return { status: 'ok' as const, checks }
      // Sent, not thrown: a refused probe is not a failed request, and a change of readiness is logged once elsewhere.
      const unready = new AppError('unavailable', 'Not ready for requests', { details: { checks } })
      return sendProblem(request, reply.header('retry-after', 1), toProblem(unready))
    },
  )
}
