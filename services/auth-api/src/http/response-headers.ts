import fp from 'fastify-plugin'

/**
 * Sets the headers of every response. All but files and public keys are `no-store`: they contain a token or a profile,
 * or describe the state of one moment.
 */
export const responseHeaders = fp<{ isDraining: () => boolean }>(
  async (app, { isDraining }) => {
    app.addHook('onRequest', (request, reply, done) => {
      reply.header('x-request-id', request.id)
      reply.header('x-content-type-options', 'nosniff')
      if (!request.routeOptions.config.isCacheable) reply.header('cache-control', 'no-store')
      // The proxy sends its next request to another replica before this one stops listening.
      if (isDraining()) reply.header('connection', 'close')
      done()
    })
  },
  { name: 'response-headers' },
)

declare module 'fastify' {
  interface FastifyContextConfig {
    isCacheable?: boolean
  }
}
