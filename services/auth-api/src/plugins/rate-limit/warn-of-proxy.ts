import type { FastifyInstance } from 'fastify'

/** Says once that a proxy which is not trusted stands in front: all its clients then count as one address. */
export function warnOfProxy(app: FastifyInstance): void {
  let hasWarned = false
  app.addHook('onRequest', (request, _reply, done) => {
    const peer = request.socket.remoteAddress
    // Without a trusted peer Fastify has no list, or one that ends with the peer itself. A peer that has hung up is unknown.
    if (!hasWarned && peer && request.headers['x-forwarded-for'] && (request.ips?.length ?? 1) < 2) {
      hasWarned = true
      request.log.warn(
        { peer },
        'X-Forwarded-For came from a peer that is not in TRUST_PROXY and is ignored: behind a proxy all clients count as one address',
      )
    }
    done()
  })
}
