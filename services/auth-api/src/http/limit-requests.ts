import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { LimitRequest } from '../limits/request-limiter.ts'
import { addressOf } from './client-address.ts'

export interface LimitRequestsOptions {
  /** Throws where the client has sent too many requests; absent without a limit. */
  limitRequest: LimitRequest | undefined
}

/**
 * Limits all requests of an address. Health probes do not count: a 429 would take the replica out of service. Nor do
 * preflights, which a browser adds to the requests of a page.
 */
export const limitRequests = fp<LimitRequestsOptions>(
  async (app, { limitRequest }) => {
    warnOfProxy(app)
    if (!limitRequest) return
    app.addHook('onRequest', async (request, reply) => {
      if (request.routeOptions.config.isProbe || isPreflight(request, reply)) return
      await limitRequest({ address: addressOf(request) })
    })
  },
  { name: 'limit-requests', dependencies: ['problem-details'] },
)

/** A preflight of an origin that may call the API: the plugin `crossOrigin` has answered it by now. */
const isPreflight = ({ method, headers }: FastifyRequest, reply: FastifyReply): boolean =>
  method === 'OPTIONS' &&
  headers['access-control-request-method'] !== undefined &&
  reply.hasHeader('access-control-allow-origin')

/** Warns once of a proxy that is not trusted: all its clients count as one address. */
function warnOfProxy(app: FastifyInstance): void {
  let hasWarned = false
  app.addHook('onRequest', (request, _reply, done) => {
    const peer = request.socket.remoteAddress
    // Where no peer is trusted, `ips` is absent or contains only the peer. A peer that has disconnected has no address.
    if (!hasWarned && peer && request.headers['x-forwarded-for'] && (request.ips?.length ?? 1) < 2) {
      hasWarned = true
      request.log.warn(
        { peer },
        'X-Forwarded-For from a peer that is not in TRUST_PROXY is ignored: behind a proxy all clients count as one address',
      )
    }
    done()
  })
}
