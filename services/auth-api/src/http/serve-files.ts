import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

/** The options of a route that the description of the API leaves out, and whose response a cache may keep. */
export const HIDDEN = { schema: { hide: true }, config: { isCacheable: true } }

/**
 * Serves files, by their URL. Each is read once, so that a slow client holds neither an open file nor a copy of it, and
 * compressed once, when it is first asked for.
 */
export async function serveFiles(app: FastifyInstance, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [url, path] of files) {
    const content = await readFile(path)
    const type = TYPES[extname(path)] ?? ''
    const tag = `"${hash('sha256', content, 'base64url')}"`
    let compressed: Promise<Buffer> | undefined
    app.get(url, HIDDEN, async (request, reply) => {
      // Browsers ask for a file each time, because the files of two versions do not fit together. The tag is a weak one, since
      // it is the same for the compressed file, also where a proxy compresses.
      reply.headers({ 'cache-control': 'no-cache', etag: `W/${tag}`, vary: 'accept-encoding' })
      if (request.headers['if-none-match']?.includes(tag)) return reply.code(304).send()
      reply.type(type)
      if (!takesGzip(request.headers['accept-encoding'])) return content
      compressed ??= promisify(gzip)(content)
      reply.header('content-encoding', 'gzip')
      return compressed
    })
  }
}

/** Tells whether a header Accept-Encoding names gzip, and does not refuse it by `q=0` (RFC 9110 §12.5.3). */
const takesGzip = (header: string | string[] = ''): boolean =>
  /(?:^|,)\s*gzip\s*(?!;\s*q=0(?:\.0*)?\s*(?:,|$))(?:[;,]|$)/i.test(String(header))
