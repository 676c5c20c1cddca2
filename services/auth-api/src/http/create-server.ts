import { randomUUID } from 'node:crypto'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { serializerCompiler } from 'fastify-type-provider-zod'
import { createClientErrorHandler } from './client-errors.ts'
import { fromStatus, sendProblem } from './problem-details.ts'
import { compileValidator } from './renamed-members.ts'

const MAX_BODY_BYTES = 16 * 1024
const REQUEST_TIMEOUT_MS = 30_000
/** A connection on which nothing arrives and nothing is read for this time is closed; more than any request takes. */
const CONNECTION_TIMEOUT_MS = 60_000
/** Time that a connection stays open after a response; longer than those of proxies. */
const KEEP_ALIVE_MS = 72_000
/** Requests of a connection that may wait for the responses of earlier ones: more than any client pipelines. */
const MAX_PIPELINED = 32
/** Time between two searches for late requests: Node's default of half a minute would double their timeout. */
const CHECK_INTERVAL_MS = 1_000

export interface ServerOptions {
  /** The addresses and networks whose X-Forwarded-For is believed. */
  trustedProxies: string[]
  logger: FastifyBaseLogger
  /** Time until a request must have arrived, its body included, in milliseconds. Default 30,000. */
  requestTimeoutMs?: number
  /** Time between two searches for requests that have not arrived in time, in milliseconds. Default 1,000. */
  checkIntervalMs?: number
  /** Time without progress after which a connection is closed, in milliseconds. Default 60,000. */
  connectionTimeoutMs?: number
}

/** Creates the HTTP server without its plugins and routes. Schemas are zod's. */
export function createServer({
  trustedProxies,
  logger,
  requestTimeoutMs = REQUEST_TIMEOUT_MS,
  checkIntervalMs = CHECK_INTERVAL_MS,
  connectionTimeoutMs = CONNECTION_TIMEOUT_MS,
}: ServerOptions): FastifyInstance {
  const server = Fastify({
    loggerInstance: logger,
    // An ingress logs each request; here a request is a line at the level debug only.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: MAX_BODY_BYTES,
    trustProxy: trustedProxies.length > 0 ? trustedProxies : false,
    genReqId: ({ headers }) => acceptedRequestId(headers['x-request-id']) ?? randomUUID(),
    // A request on a kept connection is answered while the service stops: the proxy could not know.
    return503OnClosing: false,
    serverFactory: (listener) => {
      const server = createHttpServer(
        {
          // The plugin `nodeRefusals` requires it.
          requireHostHeader: false,
          requestTimeout: requestTimeoutMs,
          // Node's default is a minute, and it applies the longer of this and `requestTimeout` to the body.
          headersTimeout: requestTimeoutMs,
          connectionsCheckingInterval: checkIntervalMs,
          keepAliveTimeout: KEEP_ALIVE_MS,
        },
        limitPipelining(listener as RequestListener),
      )
      return server.setTimeout(connectionTimeoutMs)
    },
    frameworkErrors: (error, request, reply) => {
      // These requests reach no hook.
      reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
      reply.header('cache-control', 'no-store')
      return sendProblem(request as FastifyRequest, reply, fromStatus(error.statusCode ?? 400, error.code))
    },
    clientErrorHandler: createClientErrorHandler(logger),
  })
  server.setValidatorCompiler(compileValidator)
  server.setSerializerCompiler(serializerCompiler)
  return server
}

/** Returns a client's id only when it can do no harm in a log or a header. */
const acceptedRequestId = (header: string | string[] | undefined): string | undefined =>
  typeof header === 'string' && /^[\w.-]{8,64}$/.test(header) ? header : undefined

/**
 * Closes a connection on which too many requests wait: Node parses thousands before it stops reading, and each takes memory
 * until the client reads its response.
 */
function limitPipelining(listener: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>()
  const countOf = (socket: Socket): number => waiting.get(socket) ?? 0
  return (request, response) => {
    const { socket } = request
    // A response has a socket once the earlier pipelined ones have ended.
    if (response.socket) return listener(request, response)
    waiting.set(socket, countOf(socket) + 1)
    response.once('close', () => waiting.set(socket, countOf(socket) - 1))
    if (countOf(socket) > MAX_PIPELINED) socket.destroy()
    else listener(request, response)
  }
}
