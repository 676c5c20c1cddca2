import { AppError } from '@latchkey/shared/app-error.ts'
import type { Readiness } from '@latchkey/shared/health/readiness.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { ProblemResponse, sendProblem, toProblem } from '../../plugins/problem-details.ts'

const HealthResponse = z
  .object({ status: z.literal('ok'), checks: z.record(z.string(), z.string()) })
  .meta({ id: 'Health' })

export const healthRoutes: FastifyPluginAsyncZod<{ readiness: Readiness }> = async (app, { readiness }) => {
  app.get(
    '/health/live',
    { schema: { summary: 'The process runs', tags: ['health'], response: { 200: HealthResponse } } },
    async () => ({ status: 'ok' as const, checks: {} }),
  )

  app.get(
    '/health/ready',
    {
      schema: {
        summary: 'The process is ready for requests',
        tags: ['health'],
        response: { 200: HealthResponse, 503: ProblemResponse },
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
