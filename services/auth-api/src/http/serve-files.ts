import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
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

/** Serves files, by their URL. Each is read once, so that a slow client holds neither an open file nor a copy of it. */
export async function serveFiles(app: FastifyInstance, files: ReadonlyMap<string, string>): Promise<void> {
  for (const [url, path] of files) {
    const content = await readFile(path)
    const type = TYPES[extname(path)] ?? ''
    const tag = `"${hash('sha256', content, 'base64url')}"`
    app.get(url, HIDDEN, (request, reply) => {
      // Browsers ask for a file each time, because the files of two versions do not fit together.
      reply.header('cache-control', 'no-cache').header('etag', tag)
      // A proxy that compresses makes the tag a weak one.
      if (request.headers['if-none-match']?.includes(tag)) return reply.code(304).send()
      return reply.type(type).send(content)
    })
  }
}
