import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'

/** A cookie of this prefix comes from this host alone: no sub-domain, and no page without TLS, can set it (RFC 6265bis §4.1.3.2). */
const NAME = '__Host-latchkey_refresh'
/** Not every browser takes the prefix, or `Secure`, from a loopback address without TLS. */
const LOOPBACK_NAME = 'latchkey_refresh'
const LOOPBACK = /^((.+\.)?localhost|127(\.\d+){3}|\[::1\])$/

const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Lax'

export type RefreshCookies = ReturnType<typeof createRefreshCookies>

/** Creates the functions that read and write the cookie with a refresh token. */
export function createRefreshCookies({ environment, http }: Pick<Config, 'environment' | 'http'>) {
  const { corsOrigins, publicUrl } = http
  const ownOrigin = URL.parse(publicUrl)?.origin

  const isSecure = ({ protocol, hostname }: FastifyRequest): boolean =>
    !(hasDemoUsers(environment) && protocol === 'http' && LOOPBACK.test(hostname))
  const nameFor = (request: FastifyRequest): string => (isSecure(request) ? NAME : LOOPBACK_NAME)

  function write(reply: FastifyReply, value: string, expiresAt: Date): void {
    const { request } = reply
    const secure = isSecure(request) ? '; Secure' : ''
    reply.header(
      'set-cookie',
      `${nameFor(request)}=${value}; Expires=${expiresAt.toUTCString()}; ${ATTRIBUTES}${secure}`,
    )
  }

  return {
    set: write,

    clear: (reply: FastifyReply): void => write(reply, '', new Date(0)),

    /** Returns the value of the cookie; undefined where none came. Throws `invalid_input` for two: one of them is somebody else's. */
    read(request: FastifyRequest): string | undefined {
      const name = nameFor(request)
      const [value, ...others] = (request.headers.cookie ?? '')
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(`${name}=`))
        .map((pair) => pair.slice(name.length + 1))
      if (others.length > 0) throw new AppError('invalid_input', `The cookie ${name} came twice`)
      return value
    },

    has: (request: FastifyRequest): boolean =>
      (request.headers.cookie ?? '').includes(`${nameFor(request)}=`),

    /** Throws `foreign_origin` unless the request comes from a page of this service, or of CORS_ORIGINS. */
    requireKnownPage({ headers: { origin }, protocol, host }: FastifyRequest): void {
      if (origin === undefined)
        throw new AppError('foreign_origin', 'The request with the cookie has no Origin')
      const known = [ownOrigin, `${protocol}://${host}`, ...corsOrigins]
      if (origin === 'null' || !known.includes(origin))
        throw new AppError(
          'foreign_origin',
          `The cookie is not accepted from pages of the origin ${printable(origin)}`,
        )
    },
  }
}

/** The part of an Origin that can stand in a problem: any client can send any text. */
const printable = (origin: string): string => origin.replace(/[^ -~]+/g, '?').slice(0, 100)
