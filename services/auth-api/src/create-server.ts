import { randomUUID } from 'node:crypto'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { createClientErrorHandler } from './plugins/client-errors.ts'
import { fromStatus, sendProblem } from './plugins/problem-details.ts'

const MAX_BODY_BYTES = 16 * 1024
const REQUEST_TIMEOUT_MS = 30_000
/** Longer than load balancers keep an idle connection, so that they close it first. */
const KEEP_ALIVE_TIMEOUT_MS = 72_000

export interface ServerOptions {
  /** Addresses and networks whose X-Forwarded-For counts. */
  trustedProxies: string[]
  logger: FastifyBaseLogger
}

/** Creates the HTTP server without its plugins and routes. Schemas are zod's. */
export function createServer({ trustedProxies, logger }: ServerOptions): FastifyInstance {
  const server = Fastify({
    loggerInstance: logger,
    // An ingress logs each request; here a request is a line at the level debug only.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    requestIdHeader: false,
    genReqId: ({ headers }) => acceptedRequestId(headers['x-request-id']) ?? randomUUID(),
    // A request on a kept connection is answered while the service stops: the proxy could not know.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
      return sendProblem(request as FastifyRequest, reply, fromStatus(error.statusCode ?? 400, error.code))
    },
    clientErrorHandler: createClientErrorHandler(logger),
    // The plugin `ownRefusals` requires it.
    http: { requireHostHeader: false },
  })
  server.setValidatorCompiler(validatorCompiler)
  server.setSerializerCompiler(serializerCompiler)
  return server
}

/** A client's id is used only when it can do no harm in a log or a header. */
const acceptedRequestId = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && /^[\w.-]{8,64}$/.test(header) ? header : undefined
