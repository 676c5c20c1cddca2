const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

export interface Sent {
  url: URL
  method: string
  body: Record<string, unknown> | undefined
  headers: Headers
  credentials: RequestCredentials
}

/** Answers as auth-api does, by the clock of the test; each test of a real server has the rest. */
export function createFakeServer({ lifetimeSeconds = 3600, windowSeconds = 300 } = {}) {
  const sent: Sent[] = []
  const valid = new Map<string, { sid: string; exp: number }>()
  const refreshTokens = new Map<string, string>()
  let count = 0
  let cookie: string | undefined
  const now = () => Math.floor(Date.now() / 1000)
  const server = {
    sent,
    /** Answers in place of the server: with a response, by throwing, or with nothing to let it pass. */
    intercept: (_request: Sent): Response | undefined | Promise<Response | undefined> => undefined,
    endSessions() {
      valid.clear()
      refreshTokens.clear()
    },
    loseCookie() {
      cookie = undefined
    },
    pathsOf: () => sent.map(({ url }) => url.pathname),
    refreshes: () => sent.filter(({ url }) => url.pathname === '/refreshtoken').length,
    async fetch(request: Request): Promise<Response> {
      const text = await request.text()
      const each = {
        url: new URL(request.url),
        method: request.method,
        body: text ? JSON.parse(text) : undefined,
        headers: request.headers,
        credentials: request.credentials,
      }
      sent.push(each)
      return (await server.intercept(each)) ?? answer(each)
    },
  }

  function issue(sid: string, remember: unknown) {
    const iat = now()
    const exp = iat + lifetimeSeconds
    const token = `e.${encode({ iat, exp, sid, jti: ++count })}.s`
    valid.set(token, { sid, exp })
    const refresh_token = `r${count}`
    if (remember) refreshTokens.set(refresh_token, sid)
    if (remember === 'cookie') cookie = refresh_token
    const lasting = remember
      ? { refresh_expires_at: new Date(Date.now() + 30 * 86_400_000).toISOString() }
      : {}
    const data = { userid: 'u1', name: 'Ada', role: 'user' }
    return { token, data, ...lasting, ...(remember === true && { refresh_token }) }
  }

  function answer({ url, method, body, headers, credentials }: Sent): Response {
    const token = headers.get('authorization')?.slice('Bearer '.length)
    const claims = valid.get(token ?? '')
    const isValid = claims !== undefined && claims.exp > now()
    switch (`${method} ${url.pathname}`) {
      case 'POST /login':
        if (body?.password !== 'right') return problem(401, 'invalid-credentials')
        return Response.json(issue(`s${++count}`, body.remember))
      case 'POST /refreshtoken': {
        if (token !== undefined) {
          if (!isValid) return problem(401, 'invalid-token')
          if (claims.exp - now() > windowSeconds) return problem(401, 'token-not-refreshable')
          return Response.json(issue(claims.sid, undefined))
        }
        const given =
          (body?.refresh_token as string | undefined) ?? (credentials === 'include' ? cookie : undefined)
        const sid = refreshTokens.get(given ?? '')
        if (!sid) return problem(401, 'invalid-token')
        return Response.json(issue(sid, body?.refresh_token ? true : 'cookie'))
      }
      case 'POST /logout':
        return new Response(null, { status: 204 })
      default:
        return isValid ? Response.json({ path: url.pathname, body }) : problem(401, 'invalid-token')
    }
  }
  return server
}

const CHALLENGES: Record<string, string> = {
  'invalid-token': 'Bearer error="invalid_token"',
  'insufficient-user-authentication': 'Bearer error="insufficient_user_authentication", max_age="300"',
}

/** A problem as auth-api describes it. */
export const problem = (status: number, slug: string, headers: Record<string, string> = {}, more = {}) =>
  Response.json(
    { type: `urn:latchkey:problem:${slug}`, title: slug, status, instance: 'req-1', ...more },
    {
      status,
      headers: {
        'content-type': 'application/problem+json',
        'www-authenticate': CHALLENGES[slug] ?? 'Bearer',
        ...headers,
      },
    },
  )
