import { hash } from 'node:crypto'
import { glob, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'

/** The pages load scripts and styles of their own origin, and talk to no other one. */
const POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  // Scripts send the forms. Without them, a form would put its password into an address.
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
  'require-trusted-types-for': ["'script'"],
  'trusted-types': ["'none'"],
}

const PAGES = join(import.meta.dirname, 'pages')

/** The libraries that the pages load, by the name of their file there. */
const LIBRARIES: Readonly<Record<string, string>> = { 'openapi-fetch.mjs': 'openapi-fetch', 'qr.js': 'qr' }

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const HIDDEN = { schema: { hide: true }, config: { isCacheable: true } }

/** Adds `/account/`, where ACCOUNT_PAGES is `on`: the pages on which users log in and manage their account. */
export async function addAccountPages(app: FastifyInstance, config: Config): Promise<void> {
  if (config.accountPages.isOn !== 'on') return
  const files = await readFiles()
  await app.register(async (pages) => {
    await pages.register(helmet, { contentSecurityPolicy: { useDefaults: false, directives: POLICY } })
    // The links of the pages are relative, so that they work below the path prefix of a proxy.
    pages.get('/account', HIDDEN, (_request, reply) => reply.redirect('account/'))
    pages.get('/account/settings.json', { schema: { hide: true } }, async () => describeSettings(app, config))
    for (const [name, { type, content, tag }] of files)
      pages.get(`/account/${name === 'index.html' ? '' : name}`, HIDDEN, (request, reply) => {
        // Asked for each time, because the files of two versions do not fit together.
        reply.header('cache-control', 'no-cache').header('etag', tag)
        // A proxy that compresses makes the tag a weak one.
        if (request.headers['if-none-match']?.includes(tag)) return reply.code(304).send()
        return reply.type(type).send(content)
      })
  })
}

interface File {
  type: string
  content: Buffer
  tag: string
}

/** Reads the files once: an answer that nobody reads then has neither an open file nor a copy of it. */
async function readFiles(): Promise<Map<string, File>> {
  const paths = new Map<string, string>()
  for await (const name of glob('**/*.{html,css,js,svg}', { cwd: PAGES })) paths.set(name, join(PAGES, name))
  for (const [name, library] of Object.entries(LIBRARIES))
    paths.set(name, fileURLToPath(import.meta.resolve(library)))
  const files = new Map<string, File>()
  for (const [name, path] of paths) {
    const content = await readFile(path)
    const tag = `"${hash('sha256', content, 'base64url')}"`
    files.set(name, { type: TYPES[extname(name)] ?? '', content, tag })
  }
  return files
}

/** What the pages have to know of this installation: they offer nothing that has no route here. */
function describeSettings(app: FastifyInstance, { accountPages, login, profile }: Config) {
  const { product, support, colour } = accountPages
  const has = (method: 'GET' | 'POST', url: string) => app.hasRoute({ method, url })
  return {
    product,
    support,
    colour,
    loginField: login.field,
    confirmsEmail: profile.emailChange === 'confirmed',
    signUp: has('POST', '/signup'),
    deletion: has('POST', '/profile/delete'),
    sessions: has('GET', '/sessions'),
    apps: has('POST', '/profile/factors/totp'),
    passkeys: has('POST', '/login/passkey'),
  }
}
