import type { Readiness } from '@latchkey/shared/health/readiness.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { sendProblem, unavailable } from './send-problem.ts'

/** Serves `/health/live`, `/health/ready` and `/metrics`; for the cluster, never for clients. */
export function buildHealthServer(readiness: Pick<Readiness, 'read'>, registry: Registry): FastifyInstance {
  const server = Fastify({ forceCloseConnections: true })
  server.get('/health/live', async () => ({ status: 'ok', checks: {} }))
  server.get('/health/ready', async (_request, reply) => {
    const { isReady, checks } = await readiness.read()
    if (isReady) return { status: 'ok', checks }
    return sendProblem(reply.header('retry-after', '1'), { ...unavailable('Not ready for mail'), checks })
  })
  server.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )
  return server
}
