import fp from 'fastify-plugin'

/** Warns once of a proxy that is not trusted: all its clients count as one address. */
export const warnOfProxy = fp(
  async (app) => {
    let hasWarned = false
    app.addHook('onRequest', (request, _reply, done) => {
      const peer = request.socket.remoteAddress
      // Without a trusted peer `ips` is absent or holds the peer alone. A peer that has disconnected has no address.
      if (!hasWarned && peer && request.headers['x-forwarded-for'] && (request.ips?.length ?? 1) < 2) {
        hasWarned = true
        request.log.warn(
          { peer },
          'X-Forwarded-For from a peer that is not in TRUST_PROXY is ignored: behind a proxy all clients count as one address',
        )
      }
      done()
    })
  },
  { name: 'warn-of-proxy' },
)
