import Fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

/** Serves `GET /metrics` as Prometheus text, apart from the API so that an ingress never shows it. */
export function buildMetricsServer(registry: Registry): FastifyInstance {
  const server = Fastify()
  server.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )
  return server
}
