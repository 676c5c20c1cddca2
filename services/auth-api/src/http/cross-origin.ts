import cors from '@fastify/cors'
import fp from 'fastify-plugin'

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

/** Lets pages of these origins call the API; none when the list is empty. */
export const crossOrigin = fp<{ origins: string[] }>(
  async (app, { origins }) => {
    if (origins.length > 0) await app.register(cors, { origin: origins, ...RULES })
  },
  { name: 'cross-origin' },
)
