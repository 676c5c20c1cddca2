import { createHmac, generateKeyPairSync, randomBytes } from 'node:crypto'
import { VALID_FROM_PROPERTY } from '@latchkey/shared/users/user.ts'
import { aUser, type TestUser } from '@latchkey/test-support/a-user.ts'
import { decodeJwt, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aToken, bearer, claimsFor, signToken, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
let user: TestUser
beforeAll(async () => {
  app = await startApp()
  user = await aUser(app)
})
afterAll(() => app[Symbol.asyncDispose]())

const ping = (headers: Record<string, string>, on = app) =>
  on.server.inject({ url: '/sampleprotected/ping', headers })
const now = () => Math.floor(Date.now() / 1000)
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A token signed without jose, which refuses to create it. */
function rawToken(
  header: unknown,
  claims: unknown,
  algorithm = 'sha512',
  secret: Uint8Array = app.config.tokens.secret,
) {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${createHmac(algorithm, secret).update(input).digest('base64url')}`
}

const goodClaims = () => claimsFor(app, user)
const without = (name: string) =>
  Object.fromEntries(Object.entries(goodClaims()).filter(([key]) => key !== name))
const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** A token whose signature matches. */
async function tokenWith(pattern: RegExp): Promise<string> {
  const token = await signToken(app, user)
  return pattern.test(token.split('.')[2] ?? '') ? token : tokenWith(pattern)
}

const HEADER = { alg: 'HS512', typ: 'JWT' }

async function flipped(part: number): Promise<string> {
  const parts = (await signToken(app, user)).split('.')
  const text = parts[part] ?? ''
  const middle = Math.floor(text.length / 2)
  parts[part] = text.slice(0, middle) + (text[middle] === 'A' ? 'B' : 'A') + text.slice(middle + 1)
  return parts.join('.')
}

const REFUSED: Record<string, () => Promise<string> | string> = {
  ...Object.fromEntries(
    ['none', 'None', 'NONE', 'nOnE'].flatMap((alg) => [
      [`alg ${alg} without a signature`, () => `${encode({ alg, typ: 'JWT' })}.${encode(goodClaims())}.`],
      [`alg ${alg} with the right signature`, () => rawToken({ alg, typ: 'JWT' }, goodClaims())],
    ]),
  ),
  'alg HS256 with the right secret': () => rawToken({ alg: 'HS256', typ: 'JWT' }, goodClaims(), 'sha256'),
  'alg HS384 with the right secret': () => rawToken({ alg: 'HS384', typ: 'JWT' }, goodClaims(), 'sha384'),
  'alg HS512 signed by SHA-256': () => rawToken(HEADER, goodClaims(), 'sha256'),
  'alg hs512': () => rawToken({ alg: 'hs512', typ: 'JWT' }, goodClaims()),
  'alg as a list': () => rawToken({ alg: ['HS512'], typ: 'JWT' }, goodClaims()),
  'no alg': () => rawToken({ typ: 'JWT' }, goodClaims()),
  'alg RS512 signed by another key': () =>
    new SignJWT(goodClaims())
      .setProtectedHeader({ alg: 'RS512', typ: 'JWT' })
      .sign(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
  'another secret': () => signToken(app, user, { key: randomBytes(64) }),
  'the empty secret': () => rawToken(HEADER, goodClaims(), 'sha512', new Uint8Array()),
  'the secret not decoded': () =>
    rawToken(
      HEADER,
      goodClaims(),
      'sha512',
      Buffer.from(Buffer.from(app.config.tokens.secret).toString('base64')),
    ),
  'the public issuer as secret': () =>
    rawToken(HEADER, goodClaims(), 'sha512', Buffer.from(app.config.tokens.issuer)),
  expired: () => signToken(app, user, { claims: { exp: now() - 1 } }),
  'expired an hour ago': () => signToken(app, user, { claims: { exp: now() - 3600 } }),
  'expires now': () => signToken(app, user, { claims: { exp: now() } }),
  'not yet valid': () => signToken(app, user, { claims: { nbf: now() + 60 } }),
  'no exp': () => rawToken(HEADER, without('exp')),
  'exp as text': () => rawToken(HEADER, { ...goodClaims(), exp: String(now() + 3600) }),
  'exp null': () => rawToken(HEADER, { ...goodClaims(), exp: null }),
  'no nbf': () => rawToken(HEADER, without('nbf')),
  'no iat': () => rawToken(HEADER, without('iat')),
  'iat as text': () => rawToken(HEADER, { ...goodClaims(), iat: String(now()) }),
  'no jti': () => rawToken(HEADER, without('jti')),
  'no sub': () => rawToken(HEADER, without('sub')),
  'another issuer': () => signToken(app, user, { claims: { iss: 'https://evil.example.com' } }),
  'an issuer that starts like ours': () =>
    signToken(app, user, { claims: { iss: `${app.config.tokens.issuer}.evil` } }),
  'a sub other than the user of its data': async () =>
    signToken(app, user, { claims: { sub: (await aUser(app)).userid } }),
  'data of another user than its sub': async () =>
    signToken(app, user, { claims: { data: { ...goodClaims().data, userid: (await aUser(app)).userid } } }),
  'no issuer': () => rawToken(HEADER, without('iss')),
  'the issuer in a list': () => rawToken(HEADER, { ...goodClaims(), iss: [app.config.tokens.issuer] }),
  'an unknown crit': () => rawToken({ ...HEADER, crit: ['x'], x: 1 }, goodClaims()),
  'crit b64': () => rawToken({ ...HEADER, crit: ['b64'], b64: false }, goodClaims()),
  'another key in jwk': () => {
    const secret = randomBytes(64)
    return rawToken(
      { ...HEADER, jwk: { kty: 'oct', k: secret.toString('base64url') } },
      goodClaims(),
      'sha512',
      secret,
    )
  },
  'a jwk beside the right signature': () =>
    rawToken({ ...HEADER, jwk: { kty: 'oct', k: 'AA' } }, goodClaims()),
  'a kid that is a path': () =>
    rawToken({ ...HEADER, kid: '../../../../dev/null' }, goodClaims(), 'sha512', new Uint8Array()),
  'a kid that is SQL': () =>
    rawToken({ ...HEADER, kid: "' union select 'secret" }, goodClaims(), 'sha512', Buffer.from('secret')),
  'a jku': () => rawToken({ ...HEADER, jku: 'http://127.0.0.1/keys' }, goodClaims()),
  'another typ': () => rawToken({ alg: 'HS512', typ: 'at+jwt' }, goodClaims()),
  'no typ': () => rawToken({ alg: 'HS512' }, goodClaims()),
  'no signature': async () => `${(await signToken(app, user)).split('.').slice(0, 2).join('.')}.`,
  'two parts': async () => (await signToken(app, user)).split('.').slice(0, 2).join('.'),
  'four parts': async () => `${await signToken(app, user)}.AAAA`,
  'a cut signature': async () => (await signToken(app, user)).slice(0, -4),
  'a signature of half the length': async () => (await signToken(app, user)).slice(0, -43),
  'a changed signature': () => flipped(2),
  'a padded signature': async () => `${await signToken(app, user)}==`,
  'a signature whose last character has other unused bits': async () => {
    const token = await signToken(app, user)
    const last = BASE64URL.indexOf(token.at(-1) ?? '')
    return token.slice(0, -1) + BASE64URL[last ^ 1]
  },
  'a signature in base64': async () => {
    const [header, claims, signature = ''] = (await tokenWith(/[-_]/)).split('.')
    return [header, claims, signature.replaceAll('-', '+').replaceAll('_', '/')].join('.')
  },
  'a changed payload': () => flipped(1),
  'a changed header': () => flipped(0),
  'a payload with another role under the old signature': async () => {
    const [header, , signature] = (await signToken(app, user)).split('.')
    const claims = { ...goodClaims(), data: { userid: user.userid, name: 'Ada', role: 'admin' } }
    return `${header}.${encode(claims)}.${signature}`
  },
  'no data': () => rawToken(HEADER, without('data')),
  'data as text': () => rawToken(HEADER, { ...goodClaims(), data: 'admin' }),
  'data null': () => rawToken(HEADER, { ...goodClaims(), data: null }),
  'data without a role': () =>
    rawToken(HEADER, { ...goodClaims(), data: { userid: user.userid, name: 'Ada' } }),
  'an empty role': () =>
    rawToken(HEADER, { ...goodClaims(), data: { userid: user.userid, name: 'Ada', role: '' } }),
  'data without a name': () =>
    rawToken(HEADER, { ...goodClaims(), data: { userid: user.userid, role: 'user' } }),
  'no sid': () => rawToken(HEADER, without('sid')),
  'no auth_time': () => rawToken(HEADER, without('auth_time')),
  'no valid_from': () => rawToken(HEADER, without('valid_from')),
  'a sid that is a number': () => rawToken(HEADER, { ...goodClaims(), sid: 1 }),
  'auth_time as text': () => rawToken(HEADER, { ...goodClaims(), auth_time: String(now()) }),
  'role as a list': () =>
    rawToken(HEADER, { ...goodClaims(), data: { userid: user.userid, name: 'Ada', role: ['admin'] } }),
  'a userid that is not a UUID': () =>
    rawToken(HEADER, { ...goodClaims(), sub: '1', data: { userid: '1', name: '', role: 'user' } }),
  'a sub that is not the userid': () => rawToken(HEADER, { ...goodClaims(), sub: crypto.randomUUID() }),
  'a user who does not exist': () => {
    const stranger = { ...user, userid: crypto.randomUUID() }
    return signToken(app, stranger)
  },
  'a payload that is a list': () => rawToken(HEADER, []),
  // A PHP system that had the same secret: no sub, no nbf, no jti, and ids of another form.
  'the claims of another system': () =>
    rawToken(HEADER, {
      iss: app.config.tokens.issuer,
      iat: now(),
      exp: now() + 3600,
      data: goodClaims().data,
    }),
  'a payload that is text': () => rawToken(HEADER, 'user=7'),
  'text that is not a token': () => 'abc',
}

/** Details of a response about a token that say more than that it is not valid. */
const DETAILS: Record<string, string> = {
  expired: 'The token has expired; log in again',
  'expired an hour ago': 'The token has expired; log in again',
  'expires now': 'The token has expired; log in again',
  'a user who does not exist': 'The token was revoked; log in again',
}

describe('a protected route', () => {
  it('accepts the token from which the refused ones below are derived', async () => {
    expect((await ping(bearer(await signToken(app, user)))).statusCode).toBe(200)
    expect((await ping(bearer(rawToken(HEADER, goodClaims())))).statusCode).toBe(200)
  })

  it.each(Object.entries(REFUSED))('refuses a token with %s, on every call', async (why, make) => {
    const token = await make()
    for (const attempt of ['first', 'second']) {
      const response = await ping(bearer(token))
      expect(response.statusCode, attempt).toBe(401)
      expect(response.headers['www-authenticate']).toContain('error="invalid_token"')
      expect(response.json()).toMatchObject({
        type: 'urn:latchkey:problem:invalid-token',
        detail: DETAILS[why] ?? 'The token is not valid; log in again',
      })
    }
  })

  it.each([
    { why: 'no header', headers: {}, challenge: 'Bearer realm="latchkey"' },
    { why: 'basic', headers: { authorization: 'Basic YTpi' }, challenge: 'Bearer realm="latchkey"' },
    {
      why: 'a scheme that starts like ours',
      headers: { authorization: 'BearerX a.b.c' },
      challenge: 'Bearer realm="latchkey"',
    },
    {
      why: 'a bad token, in lower case',
      headers: { authorization: 'bearer abc' },
      challenge: /error="invalid_token"/,
    },
    { why: 'no token', headers: { authorization: 'Bearer ' }, challenge: /error="invalid_token"/ },
    {
      why: 'two tokens',
      headers: { authorization: 'Bearer a.b.c d.e.f' },
      challenge: /error="invalid_token"/,
    },
    {
      why: 'a scheme that ends like ours',
      headers: { authorization: 'XBearer a.b.c' },
      challenge: 'Bearer realm="latchkey"',
    },
  ])('challenges a request with $why', async ({ headers, challenge }) => {
    const response = await ping(headers as Record<string, string>)
    expect(response.statusCode).toBe(401)
    expect(response.headers['www-authenticate']).toEqual(
      typeof challenge === 'string' ? challenge : expect.stringMatching(challenge),
    )
  })

  it('does not take a token from the query or a cookie, and says how to send it', async () => {
    const token = await signToken(app, user)
    const response = await app.server.inject({
      url: `/sampleprotected/ping?token=${token}&access_token=${token}`,
      headers: { cookie: `token=${token}` },
    })
    expect(response.statusCode).toBe(401)
    expect(response.json().detail).toBe('The request has no token; send it as Authorization: Bearer <token>')
    expect((await ping({ authorization: 'Basic YTpi' })).json().detail).toBe(
      'The Authorization header holds no bearer token; send it as Authorization: Bearer <token>',
    )
  })

  it('admits the required role and no other', async () => {
    const admin = await aUser(app, { role: 'admin' })
    const pingadm = (token: string) =>
      app.server.inject({ url: '/sampleprotected/pingadm', headers: bearer(token) })
    expect((await pingadm(await aToken(app, admin))).json()).toEqual({ result: 'pongadm' })
    const refused = await pingadm(await aToken(app, user))
    expect(refused.statusCode).toBe(403)
    expect(refused.headers['www-authenticate']).toContain('insufficient_scope')
    expect(refused.json().detail).toContain('admin')
    for (const role of ['Admin', 'superadmin', 'administrator', 'adm', 'admin,user']) {
      const lookalike = await aUser(app, { role })
      expect((await pingadm(await aToken(app, lookalike))).statusCode, role).toBe(403)
    }
  })

  it('admits each role of a list, and is refused before any other hook runs', async () => {
    await using own = await startApp({ database: app.database })
    const calls: string[] = []
    const auth = { role: ['admin', 'user'] }
    own.server.get('/listed', { auth, onRequest: async () => void calls.push('listed') }, async () => 'ok')
    own.server.get(
      '/admins',
      { auth: { role: ['admin'] }, onRequest: async () => void calls.push('admins') },
      async () => 'ok',
    )
    const token = await aToken(own, user)
    const ask = async (url: string, headers: object) =>
      (await own.server.inject({ url, headers: { ...headers } })).statusCode
    expect(await ask('/listed', bearer(token))).toBe(200)
    expect([await ask('/listed', {}), await ask('/admins', bearer(token))]).toEqual([401, 403])
    expect(calls).toEqual(['listed'])
  })

  it('compares the role that the user has now, also for a remembered token', async () => {
    const changed = await aUser(app, { role: 'admin' })
    const token = await signToken(app, changed, {
      claims: { data: { userid: changed.userid, name: 'Ada', role: 'admin' } },
    })
    const pingadm = async () =>
      (await app.server.inject({ url: '/sampleprotected/pingadm', headers: bearer(token) })).statusCode
    expect(await pingadm()).toBe(200)
    const cacheMs = (app.config.tokens.revocationCacheSeconds + 1) * 1000
    try {
      await app.users.setRole(changed.userid, 'user')
      app.setClock(Date.now() + cacheMs)
      for (const attempt of ['read', 'remembered']) expect(await pingadm(), attempt).toBe(403)
      await app.users.setRole(changed.userid, 'admin')
      app.setClock(Date.now() + 2 * cacheMs)
      for (const attempt of ['read', 'remembered']) expect(await pingadm(), attempt).toBe(200)
    } finally {
      app.setClock(undefined)
    }
  })

  it('refuses a remembered token after its revocation, on every call', async () => {
    const revoked = await aUser(app)
    const token = await signToken(app, revoked)
    for (const attempt of ['read', 'remembered'])
      expect((await ping(bearer(token))).statusCode, attempt).toBe(200)
    await app.users.setProperty(revoked.userid, VALID_FROM_PROPERTY, String(now() + 2))
    try {
      app.setClock(Date.now() + (app.config.tokens.revocationCacheSeconds + 1) * 1000)
      for (const attempt of ['read', 'remembered', 'remembered again'])
        expect((await ping(bearer(token))).statusCode, attempt).toBe(401)
    } finally {
      app.setClock(undefined)
    }
  })

  it('ignores a bad token on a public route', async () => {
    const response = await app.server.inject({ url: '/health/live', headers: bearer('rubbish') })
    expect(response.statusCode).toBe(200)
  })

  it('guards HEAD as it guards GET', async () => {
    expect((await app.server.inject({ method: 'HEAD', url: '/sampleprotected/ping' })).statusCode).toBe(401)
  })
})

describe('POST /refreshtoken', () => {
  const refresh = (token: string) =>
    app.server.inject({ method: 'POST', url: '/refreshtoken', headers: bearer(token) })

  it.each([
    { left: 301, status: 401 },
    { left: 300, status: 200 },
    { left: 1, status: 200 },
    { left: 0, status: 401 },
  ])('answers $status with $left seconds left', async ({ left, status }) => {
    const token = await signToken(app, user)
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    try {
      app.setClock((exp - left) * 1000)
      const response = await refresh(token)
      expect(response.statusCode).toBe(status)
      if (left === 301)
        expect(response.json()).toMatchObject({
          type: 'urn:latchkey:problem:token-not-refreshable',
          detail: 'A token can be refreshed in its last 300 seconds; try again then',
        })
      if (status === 200) expect((await ping(bearer(response.json().token))).statusCode).toBe(200)
    } finally {
      app.setClock(undefined)
    }
  })

  it('issues a token of the same session for the user as they now are', async () => {
    const data = { userid: user.userid, name: 'Another', role: 'admin' }
    const old = { ...goodClaims(), exp: now() + 200, auth_time: now() - 500, data }
    const response = await refresh(await signToken(app, user, { claims: old }))
    const current = { ...goodClaims().data, role: 'user' }
    expect(response.json().data).toEqual(current)
    expect(decodeJwt(response.json().token)).toMatchObject({
      sid: old.sid,
      auth_time: old.auth_time,
      data: current,
    })
  })

  it('is possible at any age of the session where SESSION_LIFETIME is 0', async () => {
    await using own = await startApp({ database: app.database, settings: { SESSION_LIFETIME: '0' } })
    const headers = bearer(await signToken(own, user, { claims: { exp: now() + 200, auth_time: 0 } }))
    const response = await own.server.inject({ method: 'POST', url: '/refreshtoken', headers })
    expect(response.statusCode).toBe(200)
  })

  it('accepts an announced JSON body that is empty', async () => {
    const token = await signToken(app, user, { claims: { exp: now() + 200 } })
    const headers = { ...bearer(token), 'content-type': 'application/json' }
    expect((await app.server.inject({ method: 'POST', url: '/refreshtoken', headers })).statusCode).toBe(200)
  })
})
