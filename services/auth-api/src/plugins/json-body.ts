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
      const isJson = JSON_TYPE.test(headers['content-type'] ?? '')
      const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity'
      if (isJson && isPlain) return done()
      done(refusal(415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE', 'Unsupported media type'))
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

const hasBody = (headers: Record<string, unknown>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
