import Fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

/** Serves `GET /metrics` as Prometheus text, on its own port so that an ingress never exposes it. */
export function buildMetricsServer(registry: Registry): FastifyInstance {
  const server = Fastify()
  server.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )
  return server
}
