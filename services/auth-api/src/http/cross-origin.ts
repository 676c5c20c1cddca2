import cors, { type FastifyCorsOptionsDelegateCallback } from '@fastify/cors'
import fp from 'fastify-plugin'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True where an answer can have the cookie with a refresh token, or a request is read with it. */
    usesRefreshCookie?: boolean
  }
}

/** The headers that a page of another origin may send and read. The routes of a path say which methods it has. */
const RULES = {
  methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  exposedHeaders: ['Retry-After', 'WWW-Authenticate', 'X-Request-Id'],
  // A browser repeats a preflight after this many seconds. Chromium allows two hours, Firefox a day.
  maxAge: 600,
  // A preflight passes the plugins after this one, and an incomplete one is not answered 400 in plain text.
  preflightContinue: true,
  strictPreflight: false,
}

/** Lets pages of these origins call the API; none when the list is empty. Browsers take cookies to and from its routes that use one. */
export const crossOrigin = fp<{ origins: string[] }>(
  async (app, { origins }) => {
    if (origins.length === 0) return
    // A preflight has a route of its own, for every path.
    const paths = new Set<string>()
    app.addHook('onRoute', ({ url, config }) => {
      if (config?.usesRefreshCookie) paths.add(url)
    })
    const delegate: FastifyCorsOptionsDelegateCallback = ({ headers: { origin = '' }, url }, callback) => {
      const credentials = origins.includes(origin) && paths.has(url.split('?', 1)[0] ?? '')
      callback(null, { origin: origins, ...RULES, credentials })
    }
    await app.register(cors, () => delegate)
  },
  { name: 'cross-origin' },
)
