import type { FastifyError } from 'fastify'
import fp from 'fastify-plugin'

/** A body is JSON in UTF-8 and says so, uncompressed; anything else is 415 before a byte of it is parsed. */
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?$/i

const refusal = (statusCode: number, code: string, message: string): FastifyError =>
  Object.assign(new Error(message), { statusCode, code, name: 'FastifyError' })

/** The one content-type gate, and the one parser behind it. */
export const jsonBody = fp(
  async (app) => {
    const parseJson = app.getDefaultJsonParser('error', 'error')
    const decoder = new TextDecoder('utf-8', { fatal: true })

    app.addHook('onRequest', async ({ headers, is404 }) => {
      if (is404 || !hasBody(headers)) return
      const isJson = JSON_TYPE.test(headers['content-type'] ?? '')
      const isPlain = (headers['content-encoding'] ?? 'identity') === 'identity'
      if (!isJson || !isPlain) throw refusal(415, 'FST_ERR_CTP_INVALID_MEDIA_TYPE', 'Unsupported media type')
    })

    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
      // A client may announce JSON and send nothing, as many do with POST /refreshtoken.
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
