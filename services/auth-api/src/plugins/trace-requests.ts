import type { FastifyPluginCallback } from 'fastify'

/**
 * One OpenTelemetry span a request, child of the caller's `traceparent`; probes make none. Loaded only where traces are
 * collected: the import alone costs what a start should not.
 */
export async function createRequestTracing(): Promise<FastifyPluginCallback> {
  const { default: otel } = await import('@fastify/otel')
  const instrumentation = new otel.FastifyOtelInstrumentation({
    registerOnInitialization: false,
    ignorePaths: ({ url }) => url.startsWith('/health/'),
    instrumentHooks: false,
    instrumentHandler: false,
    // What an error says is the log's, where secrets are redacted.
    recordExceptions: false,
    requestHook: (span, { url }) => {
      // A client may put anything into a query.
      span.setAttribute('url.path', url.split('?', 1)[0] ?? '')
    },
  })
  return instrumentation.plugin()
}
