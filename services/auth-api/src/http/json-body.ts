import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyError } from 'fastify'
import fp from 'fastify-plugin'

/** A body must be declared as JSON in UTF-8 and be uncompressed; any other is refused with 415 before it is parsed. */
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

const refusal = (statusCode: number, code: string, message: string): FastifyError =>
  Object.assign(new Error(message), { statusCode, code, name: 'FastifyError' })

/** Adds the only check of content types, and the only parser. */
export const jsonBody = fp(
  async (app) => {
    const parseJson = app.getDefaultJsonParser('error', 'error')
    const decoder = new TextDecoder('utf-8', { fatal: true })

    app.addHook('onRequest', ({ headers, is404 }, _reply, done) => {
      if (is404 || !hasBody(headers)) return done()
      const fault = findFault(headers)
      if (!fault) return done()
      done(refusal(415, fault, 'Unsupported media type'))
    })

    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
      // Clients may declare JSON and send nothing, as many do with POST /refreshtoken.
      if (body.length === 0) return done(null, undefined)
      try {
        parseJson(request, decoder.decode(body as Buffer), done)
      } catch {
        done(refusal(400, 'FST_ERR_CTP_INVALID_JSON_BODY', 'The body is not UTF-8'))
      }
    })
  },
  { name: 'json-body' },
)

/** Returns the code of what is wrong with the declaration of a body. */
function findFault(headers: IncomingHttpHeaders): string | undefined {
  const type = headers['content-type'] ?? ''
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') return 'BODY_COMPRESSED'
  if (JSON_TYPE.test(type)) return undefined
  return /^application\/json[ \t]*;/i.test(type) ? 'BODY_CHARSET' : 'FST_ERR_CTP_INVALID_MEDIA_TYPE'
}

const hasBody = (headers: Record<string, unknown>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
