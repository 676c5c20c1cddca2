import { generateKeyPairSync } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { countRows } from '@latchkey/test-support/test-database.ts'
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { post } from './support/factors.ts'
import {
  CLIENT_ID,
  CLIENT_SECRET,
  type FaultyIssuer,
  type IssuerBehaviour,
  now,
  startFaultyIssuer,
} from './support/faulty-issuer.ts'
import { APP_PAGE, aBrowser, aPage } from './support/provider-browser.ts'
import { startApp, type TestApp } from './support/start-app.ts'

let issuer: FaultyIssuer
let other: FaultyIssuer
let app: TestApp

const settingsOf = (name: string, given: FaultyIssuer, issuerUrl = given.issuer) => ({
  [`OIDC_${name}_ISSUER`]: issuerUrl,
  [`OIDC_${name}_CLIENT_ID`]: CLIENT_ID,
  [`OIDC_${name}_CLIENT_SECRET`]: CLIENT_SECRET,
})

const startWith = (given: FaultyIssuer, url = given.issuer) =>
  startApp({
    settings: {
      SIGN_UP: 'on',
      ACCOUNT_PAGES: 'on',
      CORS_ORIGINS: new URL(APP_PAGE).origin,
      OIDC_PROVIDERS: 'faulty,other',
      ...settingsOf('FAULTY', given, url),
      ...settingsOf('OTHER', other),
    },
  })

beforeAll(async () => {
  issuer = await startFaultyIssuer()
  other = await startFaultyIssuer()
  app = await startWith(issuer)
})
beforeEach(() => {
  issuer.behaviour = {}
  app.setClock(undefined)
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
})

/** Begins a login; returns the browser, and what the issuer sends back with it. */
async function begin(on = app) {
  const browser = aBrowser(on)
  const { location, page } = await browser.begin('faulty')
  const asked = new URL(location).searchParams
  issuer.nonce = asked.get('nonce') ?? ''
  return { browser, page, asked, answer: { code: 'code', state: asked.get('state') ?? '' } }
}

const callback = (answer: Record<string, string>, provider = 'faulty') =>
  `/login/with/${provider}/callback?${new URLSearchParams(answer)}`

/** Returns where the browser goes after the callback. */
async function complete(browser: ReturnType<typeof aBrowser>, path: string): Promise<URL> {
  const response = await browser.visit(path)
  expect(response.statusCode, response.body).toBe(302)
  return new URL(response.headers.location ?? '')
}

const stored = async ({ database: { db } }: TestApp) => {
  return [
    await countRows(db, 'users'),
    await countRows(db, 'user_identity'),
    await countRows(db, 'identity_login'),
  ]
}

const html = (response: ServerResponse) =>
  response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>')
const redirect: typeof html = (response) =>
  response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end('')
const broken: typeof html = (response) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end('{"id_token":')

const signBy =
  (key: Parameters<SignJWT['sign']>[0], header: { alg: string; kid?: string }) => (claims: JWTPayload) =>
    new SignJWT(claims).setProtectedHeader(header).sign(key)
const anotherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey

/** Leaves a claim out. */
const without = (claim: string): object => ({ [claim]: undefined })

const FAULTS: Record<string, () => IssuerBehaviour> = {
  'is for another client': () => ({ claims: { aud: 'another' } }),
  'is for two clients, and does not say which asked': () => ({ claims: { aud: [CLIENT_ID, 'another'] } }),
  'is for two clients, and another one asked': () => ({
    claims: { aud: [CLIENT_ID, 'another'], azp: 'another' },
  }),
  'is of another issuer': () => ({ claims: { iss: 'https://accounts.example.com' } }),
  'has the issuer with a slash': () => ({ claims: { iss: `${issuer.issuer}/` } }),
  'has the nonce of another login': () => ({ claims: { nonce: 'another' } }),
  'has no nonce': () => ({ claims: without('nonce') }),
  'is not signed': () => ({ sign: async (claims) => new UnsecuredJWT(claims).encode() }),
  'is signed by the client secret': () => ({ sign: signBy(Buffer.from(CLIENT_SECRET), { alg: 'HS256' }) }),
  'is not signed, as its issuer says it may be': () => ({
    sign: async (claims) => new UnsecuredJWT(claims).encode(),
    metadata: { id_token_signing_alg_values_supported: ['RS256', 'none'] },
  }),
  'is signed by the client secret, as its issuer says it may be': () => ({
    sign: signBy(Buffer.from(CLIENT_SECRET), { alg: 'HS256' }),
    metadata: { id_token_signing_alg_values_supported: ['RS256', 'HS256'] },
  }),
  'is signed by another key': () => ({ sign: signBy(anotherKey, { alg: 'RS256', kid: 'one' }) }),
  'is signed by a key that is not published': () => ({
    sign: signBy(anotherKey, { alg: 'RS256', kid: 'two' }),
  }),
  'is signed by an algorithm that the issuer does not have': () => ({
    sign: signBy(issuer.privateKey, { alg: 'RS256' }),
    metadata: { id_token_signing_alg_values_supported: ['ES256'] },
  }),
  'has expired': () => ({ claims: { exp: now() - 60 } }),
  'expires never': () => ({ claims: without('exp') }),
  'is of the future': () => ({ claims: { iat: now() + 120 } }),
  'is not valid yet': () => ({ claims: { nbf: now() + 120 } }),
  'has no subject': () => ({ claims: without('sub') }),
  'has an empty subject': () => ({ claims: { sub: '' } }),
  'has a subject of 300 characters': () => ({ claims: { sub: 'a'.repeat(300) } }),
  'has a subject with a line': () => ({ claims: { sub: 'ada\nadmin' } }),
  'is no JWT': () => ({ sign: async () => 'id token' }),
  'is missing': () => ({ tokens: { access_token: 'access', token_type: 'Bearer' } }),
  'is for a code that was used': () => ({ tokens: { error: 'invalid_grant' } }),
  'comes in HTML': () => ({ answers: { '/token': html } }),
  'comes with 300 KiB': () => ({ padded: '/token' }),
  'comes with a redirect': () => ({ answers: { '/token': redirect } }),
  'comes in half': () => ({ answers: { '/token': broken } }),
  'has keys in HTML': () => ({ answers: { '/jwks': html } }),
  'has keys of 300 KiB': () => ({ padded: '/jwks' }),
  'has another subject than the user info': () => ({
    claims: without('email'),
    userInfo: { sub: 'grace', email: 'grace@example.com', email_verified: true },
  }),
  'comes with user info of 300 KiB': () => ({
    claims: without('email'),
    padded: '/userinfo',
  }),
}

describe('an ID token', () => {
  it('is accepted as it should be', async () => {
    const { browser, answer, page } = await begin()
    const back = await complete(browser, callback(answer))
    const code = back.searchParams.get('code') ?? ''
    const exchanged = await post(app, '/login/exchange', { code, code_verifier: page.verifier })
    expect(exchanged.statusCode, exchanged.body).toBe(200)
  })

  it.each(Object.entries(FAULTS))(
    'that %s comes back as an error, and stores nothing',
    async (_, behaviour) => {
      const given = behaviour()
      // The document and the keys are read once.
      const isOfIssuer =
        given.metadata !== undefined || given.answers?.['/jwks'] !== undefined || given.padded !== undefined
      await using own = isOfIssuer ? await startWith(issuer) : undefined
      const on = own ?? app
      const [before, lines] = [await stored(on), on.logLines.length]
      issuer.behaviour = given
      const { browser, answer, page } = await begin(on)
      const back = await complete(browser, callback(answer))
      expect(back.href).toBe(`${APP_PAGE}?error=provider_failed&state=${page.state}`)
      expect(await stored(on)).toEqual(before)
      const logged = on.logLines.slice(lines)
      const warning = logged.find((each) => each.includes('"provider":"faulty"')) ?? '{}'
      expect(JSON.parse(warning)).toMatchObject({ level: 'warn', reason: expect.any(String) })
      expect(logged.join(''), 'no token and no person in the log').not.toMatch(/ada@faulty|eyJ|grace/)
    },
  )
})

describe('a callback', () => {
  it.each([
    { what: 'that was cancelled', answer: { error: 'access_denied' }, error: 'access_denied' },
    { what: 'that needs a person', answer: { error: 'login_required' }, error: 'access_denied' },
    { what: 'after an error of the provider', answer: { error: 'server_error' }, error: 'provider_failed' },
    {
      what: 'of another issuer (RFC 9207)',
      answer: { code: 'code', iss: 'https://evil.example' },
      error: 'provider_failed',
    },
    { what: 'without a code', answer: {}, error: 'provider_failed' },
  ])('$what goes back to the page', async ({ answer, error }) => {
    const { browser, asked, page } = await begin()
    const back = await complete(browser, callback({ ...answer, state: asked.get('state') ?? '' }))
    expect(back.href).toBe(`${APP_PAGE}?error=${error}&state=${page.state}`)
  })

  it('without the issuer is refused where the provider promises it', async () => {
    issuer.behaviour = { metadata: { authorization_response_iss_parameter_supported: true } }
    await using own = await startWith(issuer)
    const { browser, answer } = await begin(own)
    expect((await complete(browser, callback(answer))).searchParams.get('error')).toBe('provider_failed')
    const { browser: second, answer: complying } = await begin(own)
    const back = await complete(second, callback({ ...complying, iss: issuer.issuer }))
    expect(back.searchParams.get('code')).not.toBeNull()
  })

  const EXPIRED = 'http://localhost:8080/account/?error=login_expired'

  it('is refused in another browser, and without its cookie', async () => {
    const { browser: others } = await begin()
    const { browser, answer } = await begin()
    expect((await complete(aBrowser(app), callback(answer))).href).toBe(EXPIRED)
    expect((await complete(others, callback(answer))).href).toBe(EXPIRED)
    expect((await complete(browser, callback(answer))).searchParams.has('code')).toBe(true)
  })

  it('is refused with another state, with none and with two', async () => {
    const { browser, answer } = await begin()
    for (const state of ['another', '', `${answer.state}&state=${answer.state}`]) {
      const back = await complete(browser, `/login/with/faulty/callback?code=code&state=${state}`)
      expect(back.searchParams.get('error'), state).toMatch(/^(login_expired|provider_failed)$/)
    }
  })

  it('is refused at another provider', async () => {
    const { browser, answer } = await begin()
    expect((await complete(browser, callback(answer, 'other'))).href).toBe(EXPIRED)
  })

  it('is refused the second time, and one of two at once', async () => {
    const { browser, answer } = await begin()
    const cookies = new Map(browser.cookies())
    const both = await Promise.all([complete(browser, callback(answer)), complete(browser, callback(answer))])
    expect(both.filter((url) => url.searchParams.has('code'))).toHaveLength(1)
    for (const [name, value] of cookies) browser.cookies().set(name, value)
    expect((await complete(browser, callback(answer))).href).toBe(EXPIRED)
  })

  it('is refused after ten minutes', async () => {
    const { browser, answer } = await begin()
    app.setClock(Date.now() + 600_000)
    expect((await complete(browser, callback(answer))).href).toBe(EXPIRED)
  })

  it('is refused with a cookie that was changed, or that is that of another state', async () => {
    const { browser, answer } = await begin()
    const [[name = '', value = ''] = []] = browser.cookies()
    browser.cookies().set(name, `${value.slice(0, -4)}AAAA`)
    expect((await complete(browser, callback(answer))).href).toBe(EXPIRED)
    const { browser: second } = await begin()
    const [[, foreign = ''] = []] = second.cookies()
    browser.cookies().set(name, foreign)
    expect((await complete(browser, callback(answer))).searchParams.has('code')).toBe(false)
  })

  it('without a page is a problem where there are no account pages', async () => {
    await using own = await startApp({
      settings: { ACCOUNT_PAGES: 'off', OIDC_PROVIDERS: 'faulty', ...settingsOf('FAULTY', issuer) },
    })
    const response = await aBrowser(own).visit(callback({ code: 'code', state: 'unknown' }))
    expect([response.statusCode, response.json().type]).toEqual([
      422,
      'urn:latchkey:problem:exchange-refused',
    ])
  })
})

describe('a provider', () => {
  it.each([
    { what: 'cannot be reached', url: () => 'http://localhost:1', answers: {} },
    { what: 'has its issuer with a slash more', url: () => `${issuer.issuer}/realm/`, answers: {} },
    {
      what: 'answers HTML',
      url: () => issuer.issuer,
      answers: { '/.well-known/openid-configuration': html },
    },
    {
      what: 'answers 300 KiB',
      url: () => issuer.issuer,
      answers: {},
      padded: '/.well-known/openid-configuration',
    },
    {
      what: 'answers a redirect',
      url: () => issuer.issuer,
      answers: { '/.well-known/openid-configuration': redirect },
    },
    {
      what: 'answers half',
      url: () => issuer.issuer,
      answers: { '/.well-known/openid-configuration': broken },
    },
  ])(
    'that $what is an error of its button only, and is asked again',
    async ({ url, answers, padded = '' }) => {
      await using own = await startWith(issuer, url())
      issuer.behaviour = { answers, padded }
      const { page, response } = await aBrowser(own).begin('faulty')
      expect(response.headers.location).toBe(`${APP_PAGE}?error=provider_unavailable&state=${page.state}`)
      expect((await aBrowser(own).begin('other')).location).toContain(other.issuer)
      issuer.behaviour = {}
      const { location } = await aBrowser(own).begin('faulty')
      expect(location.startsWith(issuer.issuer)).toBe(url() === issuer.issuer)
    },
  )

  it('that nobody has named is not found', async () => {
    const { response } = await aBrowser(app).begin('google')
    expect([response.statusCode, response.json().type]).toEqual([
      404,
      'urn:latchkey:problem:provider-not-found',
    ])
  })
})

describe('the address to which a login comes back', () => {
  const begun = (query: Record<string, string>) => aBrowser(app).begin('faulty', aPage(), query)

  it.each([
    'https://evil.example/',
    'https://app.example.com.evil.example/',
    'https://app.example.com:444/',
    'http://app.example.com/login',
    'https://user@app.example.com/',
    'https://user:password@app.example.com/',
    'https://app.example.com@evil.example/',
    '//app.example.com/login',
    '/account/',
    'https:/app.example.com/login',
    'https:\\\\app.example.com\\login',
    'https://app.example.com\\@evil.example/',
    'https://app.example.com/#code=1',
    'https://app.example.com/#',
    'javascript:alert(1)//https://app.example.com',
    'data:text/html,https://app.example.com/',
    ' https://app.example.com/',
    'https://app.example.com/\n',
    `https://app.example.com/${'a'.repeat(10_000)}`,
    'null',
    '',
  ])('is refused before anything else: %s', async (return_to) => {
    const { response } = await begun({ return_to })
    expect(response.statusCode).toBe(400)
    expect(response.json().errors).toEqual([{ path: 'return_to', message: expect.stringMatching(/^must/) }])
    expect(response.headers['set-cookie']).toBeUndefined()
  })

  it.each([
    'https://app.example.com',
    'https://app.example.com/login?next=%2Fhome&code=old&error=old',
    'http://localhost:8080/account/',
  ])('can be %s', async (return_to) => {
    const { location } = await begun({ return_to })
    expect(location).toContain(issuer.issuer)
  })

  it.each([
    { code_challenge: 'short' },
    { code_challenge: '' },
    { code_challenge_method: 'plain' },
    { state: 'a'.repeat(513) },
  ])('needs a page with %o', async (query: Record<string, string>) => {
    expect((await begun(query)).response.statusCode).toBe(400)
  })

  it('names no parameter twice', async () => {
    const response = await aBrowser(app).visit(
      `/login/with/faulty?return_to=a&return_to=b&code_challenge=${'a'.repeat(43)}`,
    )
    expect(response.statusCode).toBe(400)
  })
})

it('keeps at most three logins in one browser', async () => {
  const browser = aBrowser(app)
  for (let nth = 0; nth < 8; nth++) {
    await browser.begin('faulty')
    expect(browser.cookies().size).toBeLessThanOrEqual(3)
  }
})
