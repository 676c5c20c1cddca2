import type { FastifyPluginCallback } from 'fastify'

/**
 * Creates one OpenTelemetry span per request, a child of the client's `traceparent`; none for probes. The library is
 * imported only where traces are collected, because the import slows down the start.
 */
export async function createRequestTracing(): Promise<FastifyPluginCallback> {
  const { default: otel } = await import('@fastify/otel')
  const instrumentation = new otel.FastifyOtelInstrumentation({
    registerOnInitialization: false,
    ignorePaths: ({ url }) => url.startsWith('/health/'),
    instrumentHooks: false,
    instrumentHandler: false,
    // Errors belong to the log, which redacts secrets.
    recordExceptions: false,
    requestHook: (span, { method, routeOptions, url }) => {
      // Otherwise each path without a route would be another name.
      span.updateName(`${method} ${routeOptions.url ?? 'unmatched'}`)
      // Clients may put a secret into the query.
      span.setAttribute('url.path', url.split('?', 1)[0] ?? '')
    },
  })
  return instrumentation.plugin()
}
