import { randomBytes } from 'node:crypto'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import type { LightMyRequestResponse } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bearer, startApp, type TestApp } from './support/start-app.ts'

/** The service as browsers see it, behind a proxy that ends TLS and sends X-Forwarded-Proto and the Host. */
const HOST = 'auth.example.org'
const OWN = `https://${HOST}`
/** A page of another origin of the same site, and one of CORS_ORIGINS that is of another site. */
const PAGE = 'https://app.example.org'
const FOREIGN = 'https://evil.example'
const SIBLING = 'https://blog.example.org'
const NAME = '__Host-latchkey_refresh'

let database: TestDatabase
let app: TestApp
beforeAll(async () => {
  database = await createTestDatabase()
  app = await startApp({
    database,
    settings: { CORS_ORIGINS: PAGE, TRUST_PROXY: '127.0.0.1', API_SERVER: OWN },
  })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

interface Sent {
  cookie?: string
  origin?: string
  payload?: object | string
  /** The Content-Type; null for none, and no body. */
  type?: string | null
  authorization?: string
  host?: string
  proto?: string
}
const send = (url: string, given: Sent = {}, method: 'POST' | 'OPTIONS' = 'POST') => {
  const { payload = {}, type = 'application/json', host = HOST, proto = 'https', ...headers } = given
  return app.server.inject({
    method,
    url,
    headers: {
      ...headers,
      host,
      'x-forwarded-proto': proto,
      ...(type === null ? {} : { 'content-type': type }),
    },
    ...(type === null ? {} : { payload }),
  })
}
const logIn = async ({ email }: TestUser, given: Sent = {}) => {
  const payload = { username: email, password: PASSWORD, remember: 'cookie' }
  const response = await send('/login', { ...given, payload })
  expect(response.statusCode, response.body).toBe(200)
  return response
}
const setCookieOf = (response: LightMyRequestResponse): string => String(response.headers['set-cookie'] ?? '')
const cookieOf = (response: LightMyRequestResponse): string => setCookieOf(response).split(';', 1)[0] ?? ''
const aCookie = async (user: TestUser) => cookieOf(await logIn(user))
/** True where the session of a cookie has not ended. */
const isAlive = async (cookie: string) =>
  (await send('/refreshtoken', { cookie, origin: OWN })).statusCode === 200

describe('a login with remember "cookie"', () => {
  it('has the refresh token in a cookie that no script and no sub-domain reaches, and not in its body', async () => {
    const response = await logIn(await aUser(app))
    expect(Object.keys(response.json()).toSorted()).toEqual(['data', 'refresh_expires_at', 'token'])
    expect(setCookieOf(response)).toMatch(
      /^__Host-latchkey_refresh=[\w-]{43}; Expires=[^;]+ GMT; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    )
    const [, expires = ''] = /Expires=([^;]+)/.exec(setCookieOf(response)) ?? []
    const until = Date.parse(response.json().refresh_expires_at)
    expect(Math.floor(until / 1000) * 1000).toBe(Date.parse(expires))
  })

  it.each([
    { host: 'localhost:8080', proto: 'http', name: 'latchkey_refresh' },
    { host: '127.0.0.1:8080', proto: 'http', name: 'latchkey_refresh' },
    { host: '[::1]:8080', proto: 'http', name: 'latchkey_refresh' },
    { host: 'localhost:8080', proto: 'https', name: NAME },
    { host: '192.168.1.2:8080', proto: 'http', name: NAME },
    { host: 'localhost.example.org', proto: 'http', name: NAME },
  ])('is called $name at $proto://$host, in dev and test', async ({ name, ...at }) => {
    const cookie = setCookieOf(await logIn(await aUser(app), at))
    expect(cookie.startsWith(`${name}=`)).toBe(true)
    expect(cookie.endsWith('; Secure')).toBe(name === NAME)
    const origin = `${at.proto}://${at.host}`
    const sent = { ...at, origin, cookie: cookie.split(';', 1)[0] ?? '' }
    expect((await send('/refreshtoken', sent)).statusCode).toBe(200)
  })

  it('is called by its long name in prod, whatever the Host', async () => {
    await using prod = await startApp({ database, settings: { APP_ENV: 'prod', PASSWORD_HASH: 'argon2id' } })
    const { email } = await aUser(app)
    const response = await prod.server.inject({
      method: 'POST',
      url: '/login',
      headers: { host: 'localhost:8080' },
      payload: { username: email, password: PASSWORD, remember: 'cookie' },
    })
    expect(setCookieOf(response)).toMatch(/^__Host-latchkey_refresh=.*; Secure$/)
  })
})

describe('the cookie', () => {
  it('is exchanged for a token and the next cookie, and ends with a logout by it', async () => {
    const cookie = await aCookie(await aUser(app))
    const response = await send('/refreshtoken', { cookie, origin: OWN })
    expect(response.statusCode, response.body).toBe(200)
    expect(Object.keys(response.json()).toSorted()).toEqual(['data', 'refresh_expires_at', 'token'])
    const next = cookieOf(response)
    expect(next).not.toBe(cookie)
    const loggedOut = await send('/logout', { cookie: next, origin: OWN })
    expect(loggedOut.statusCode, loggedOut.body).toBe(204)
    expect(setCookieOf(loggedOut)).toBe(
      `${NAME}=; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Path=/; HttpOnly; SameSite=Lax; Secure`,
    )
    expect(await isAlive(next)).toBe(false)
    const ping = await app.server.inject({
      url: '/sampleprotected/ping',
      headers: bearer(response.json().token),
    })
    expect(ping.statusCode).toBe(401)
  })

  it('is removed by a logout with the access token too, which ends its session', async () => {
    const response = await logIn(await aUser(app))
    const authorization = `Bearer ${response.json().token}`
    const loggedOut = await send('/logout', { cookie: cookieOf(response), authorization })
    expect(loggedOut.statusCode).toBe(204)
    expect(setCookieOf(loggedOut)).toMatch(/^__Host-latchkey_refresh=; Expires=Thu, 01 Jan 1970/)
    expect(await isAlive(cookieOf(response))).toBe(false)
    const other = await logIn(await aUser(app))
    const without = await send('/logout', { authorization: `Bearer ${other.json().token}` })
    expect([without.statusCode, setCookieOf(without)], 'no cookie came').toEqual([204, ''])
    expect(await isAlive(cookieOf(other))).toBe(false)
  })

  it('stays where a refresh is refused: an answer that comes late removes no newer one', async () => {
    const user = await aUser(app)
    const cookie = await aCookie(user)
    await send('/logout', { cookie, origin: OWN })
    const refused = await send('/refreshtoken', { cookie, origin: OWN })
    expect([refused.statusCode, setCookieOf(refused)]).toEqual([401, ''])
  })

  it('is read by no other route', async () => {
    const cookie = await aCookie(await aUser(app))
    for (const [method, url] of [
      ['GET', '/profile'],
      ['GET', '/sessions'],
      ['GET', '/sampleprotected/ping'],
      ['PUT', '/profile/password'],
    ] as const) {
      const headers = { cookie, origin: OWN, host: HOST, 'x-forwarded-proto': 'https' }
      const response = await app.server.inject({ method, url, headers })
      expect([url, response.statusCode]).toEqual([url, 401])
    }
  })

  it('is replaced by a change of the password, which ends the former one', async () => {
    const user = await aUser(app)
    const response = await logIn(user)
    const changed = await app.server.inject({
      method: 'PUT',
      url: '/profile/password',
      headers: { ...bearer(response.json().token), host: HOST, 'x-forwarded-proto': 'https' },
      payload: { current_password: PASSWORD, password: 'N3w-p4ssw0rd!' },
    })
    expect(changed.statusCode, changed.body).toBe(200)
    expect(Object.keys(changed.json()).toSorted()).toEqual(['data', 'refresh_expires_at', 'token'])
    expect(await isAlive(cookieOf(changed))).toBe(true)
    expect(await isAlive(cookieOf(response))).toBe(false)
  })
})

/** An attack, or a mistake, on a request with the cookie of a victim; and how it is answered. */
interface Attack {
  why: string
  sent: Sent
  status: number
  says?: string
}

const ATTACKS: Attack[] = [
  { why: 'from a foreign page', sent: { origin: FOREIGN }, status: 403, says: FOREIGN },
  { why: 'from a page of a sibling sub-domain', sent: { origin: SIBLING }, status: 403, says: SIBLING },
  { why: 'from a page of the same host without TLS', sent: { origin: `http://${HOST}` }, status: 403 },
  { why: 'from another port of the same host', sent: { origin: `${OWN}:8443` }, status: 403 },
  { why: 'without an Origin', sent: {}, status: 403, says: 'has no Origin' },
  { why: 'from a sandboxed page', sent: { origin: 'null' }, status: 403, says: 'null' },
  { why: 'with a slash after the Origin', sent: { origin: `${OWN}/` }, status: 403, says: `${OWN}/` },
  { why: 'with another case of the Origin', sent: { origin: OWN.toUpperCase() }, status: 403, says: 'HTTPS' },
  { why: 'with a path in the Origin', sent: { origin: `${PAGE}/x` }, status: 403 },
  { why: 'with a user in the Origin', sent: { origin: `https://${HOST}@evil.example` }, status: 403 },
  { why: 'with a suffix of the Origin', sent: { origin: `${PAGE}.evil.example` }, status: 403 },
  { why: 'with an empty Origin', sent: { origin: '' }, status: 403 },
  {
    why: 'as a form can send it, without a body',
    sent: { origin: OWN, type: null },
    status: 400,
    says: 'no JSON body',
  },
  {
    why: 'as a form can send it, with one',
    sent: { origin: OWN, payload: '{"a":"="}', type: 'text/plain' },
    status: 415,
  },
  {
    why: 'as a form of names and values',
    sent: { origin: OWN, payload: 'a=b', type: 'application/x-www-form-urlencoded' },
    status: 415,
  },
]

it('has no page of its own where API_SERVER is no URL: none of the origin null', async () => {
  await using other = await startApp({
    database,
    settings: { API_SERVER: 'urn:example:auth', TRUST_PROXY: '127.0.0.1' },
  })
  const cookie = await aCookie(await aUser(app))
  const sendTo = (origin: string) =>
    other.server.inject({
      method: 'POST',
      url: '/refreshtoken',
      headers: { cookie, origin, host: HOST, 'x-forwarded-proto': 'https' },
      payload: {},
    })
  expect((await sendTo('null')).statusCode).toBe(403)
  expect((await sendTo(OWN)).statusCode, 'the host of the request').toBe(200)
})

describe.each(['/refreshtoken', '/logout'])('%s with the cookie', (url) => {
  it.each(ATTACKS)(
    'is refused $why, and leaves the session as it is',
    async ({ sent, status, says = '' }) => {
      const cookie = await aCookie(await aUser(app))
      const response = await send(url, { ...sent, cookie })
      expect(response.statusCode, response.body).toBe(status)
      expect(response.json().detail).toContain(says)
      expect(setCookieOf(response)).toBe('')
      expect(await isAlive(cookie)).toBe(true)
    },
  )

  it.each([OWN, PAGE])('is answered from a page of %s', async (origin) => {
    const cookie = await aCookie(await aUser(app))
    expect((await send(url, { cookie, origin })).statusCode).toBeLessThan(300)
  })

  it('is refused with a second cookie of the name, which somebody else has set', async () => {
    const [victim, thief] = [await aCookie(await aUser(app)), await aCookie(await aUser(app))]
    for (const cookie of [`${thief}; ${victim}`, `${victim}; x=y; ${thief}`, `${victim};${victim}`]) {
      const response = await send(url, { cookie, origin: OWN })
      expect(response.statusCode).toBe(400)
      expect(response.json().detail).toContain(`${NAME} came twice`)
    }
    for (const cookie of [victim, thief]) expect(await isAlive(cookie)).toBe(true)
  })

  it('finds it among others, and takes no part of a name or value for it', async () => {
    const cookie = await aCookie(await aUser(app))
    const others = `x${cookie}; y=${cookie}; latchkey_refresh=abc; ${NAME.toLowerCase()}=abc; z`
    expect((await send(url, { cookie: others, origin: OWN })).statusCode).toBe(401)
    expect((await send(url, { cookie: `${others}; ${cookie}; z=1`, origin: OWN })).statusCode).toBeLessThan(
      300,
    )
  })

  it.each(['', 'x', 'x'.repeat(10_000), '%00', '"quoted"'])('refuses the value %s', async (value) => {
    const response = await send(url, { cookie: `${NAME}=${value}`, origin: OWN })
    expect([response.statusCode, response.json().type]).toEqual([401, 'urn:latchkey:problem:invalid-token'])
  })

  it('is refused with a refresh token in the body too, and says which two came', async () => {
    const [cookie, other] = [await aCookie(await aUser(app)), await aCookie(await aUser(app))]
    const [, token = ''] = other.split('=')
    const response = await send(url, { cookie, origin: OWN, payload: { refresh_token: token } })
    expect(response.statusCode).toBe(400)
    expect(response.json().detail).toMatch(/refresh_token in its body, and the cookie too; send one of them/)
    for (const each of [cookie, other]) expect(await isAlive(each)).toBe(true)
  })
})

describe('a session of somebody else', () => {
  it('is not taken over by a login: each begins a new one, whatever cookie came', async () => {
    const planted = await aCookie(await aUser(app))
    const victim = await logIn(await aUser(app), { cookie: planted, origin: OWN })
    expect(cookieOf(victim)).not.toBe(planted)
    const { data } = victim.json()
    const renewed = await send('/refreshtoken', { cookie: cookieOf(victim), origin: OWN })
    expect(renewed.json().data.userid).toBe(data.userid)
    expect((await send('/refreshtoken', { cookie: planted, origin: OWN })).json().data.userid).not.toBe(
      data.userid,
    )
  })
})

describe('a page of another origin', () => {
  const preflight = (url: string, origin: string) =>
    app.server.inject({
      method: 'OPTIONS',
      url,
      headers: {
        origin,
        host: HOST,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      },
    })
  const CREDENTIALS = 'access-control-allow-credentials'

  it.each([
    '/login',
    '/login/secondfactor',
    '/signup/confirm',
    '/refreshtoken',
    '/refreshtoken?x=1',
    '/logout',
    '/profile/password',
  ])('of CORS_ORIGINS may send and get the cookie at %s', async (url) => {
    await using all = await startApp({
      database,
      settings: {
        CORS_ORIGINS: PAGE,
        SIGN_UP: 'on',
        SECOND_FACTOR: 'on',
        FACTOR_SECRET: randomBytes(32).toString('base64'),
      },
    })
    const asked = await all.server.inject({
      method: 'OPTIONS',
      url,
      headers: { origin: PAGE, 'access-control-request-method': 'POST' },
    })
    expect(asked.headers).toMatchObject({ [CREDENTIALS]: 'true', 'access-control-allow-origin': PAGE })
    const refused = await all.server.inject({ method: 'POST', url, headers: { origin: PAGE }, payload: {} })
    expect(refused.headers, 'the answer').toMatchObject({ [CREDENTIALS]: 'true' })
  })

  it.each([
    '/profile',
    '/sessions',
    '/login/resetrequest',
    '/sampleprotected/ping',
    '/login/',
    '/LOGIN',
    '/x',
  ])('of CORS_ORIGINS sends and gets no cookie at %s', async (url) => {
    const { headers } = await preflight(url, PAGE)
    expect(headers['access-control-allow-origin']).toBe(PAGE)
    expect(headers).not.toHaveProperty(CREDENTIALS)
  })

  it.each([FOREIGN, SIBLING, 'null', `${PAGE}/`])('of %s may call nothing', async (origin) => {
    for (const url of ['/login', '/refreshtoken', '/logout']) {
      const { headers } = await preflight(url, origin)
      expect(headers).not.toHaveProperty('access-control-allow-origin')
      expect(headers).not.toHaveProperty(CREDENTIALS)
    }
  })
})
