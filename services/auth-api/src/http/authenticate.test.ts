import Fastify, { type FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
import { someClaims } from '../../test/support/claims.ts'
import { type AuthenticateOptions, authenticate, type RouteGuard } from './authenticate.ts'

/** The claims of a token that names a role. */
const claimsOf = (role: string) => {
  const claims = someClaims()
  return { ...claims, data: { ...claims.data, role } }
}

/** Adds the plugin, for which the text of a token is the role of its user. */
async function addAuthenticate(
  app: FastifyInstance,
  options: Partial<AuthenticateOptions> = {},
): Promise<void> {
  await app.register(authenticate, {
    verifier: { verify: async (token) => claimsOf(token) },
    validity: { requireValid: async (claims) => claims },
    roles: ['user', 'admin'],
    requireLogin: () => undefined,
    secondFactorRoles: [],
    hasSecondFactor: false,
    ...options,
  })
}

/** A route with an `auth` that TypeScript would refuse, as JavaScript does not. */
async function routeWith(auth: unknown): Promise<void> {
  await using app = Fastify()
  await addAuthenticate(app)
  app.get('/notes', { auth: auth as RouteGuard }, () => 'open')
  const response = await app.inject('/notes')
  expect(response.json()).toMatchObject({
    code: 'invalid_token',
    message: 'The request has no token',
  })
}

describe('a route', () => {
  it.each([
    [null],
    ['authenticate'],
    [''],
    [{}],
    [{ role: '' }],
    [{ role: [] }],
    [{ role: ['admin', ''] }],
    [{ roles: ['admin'] }],
    [{ role: 'admin', secondfactor: true }],
    [{ role: '', maxAgeSeconds: 300 }],
    [{ role: undefined, maxAgeSeconds: 300 }],
    [{ secondFactor: false }],
    [{ secondFactor: 'yes' }],
    [{ maxAgeSeconds: 0 }],
    [{ maxAgeSeconds: '300' }],
  ])('cannot be declared with the auth option %j', async (auth) => {
    await expect(routeWith(auth)).rejects.toThrow(
      "The route /notes has an auth option that is neither 'authenticated', { role, secondFactor, maxAgeSeconds } nor 'public'",
    )
  })

  it('cannot require a second factor where nobody can have one', async () => {
    await expect(routeWith({ secondFactor: true })).rejects.toThrow('set SECOND_FACTOR=on')
  })

  it.each([[{ role: 'boss' }], [{ role: ['admin', 'boss'] }]])(
    'cannot require a role that is not declared: %j',
    async (auth) => {
      await expect(routeWith(auth)).rejects.toThrow('The route /notes requires the role boss, which is not')
    },
  )

  it.each([
    ['authenticated'],
    ['signed'],
    [{ role: 'user' }],
    [{ role: ['user', 'admin'] }],
    [{ maxAgeSeconds: 300 }],
  ])('is closed with the auth option %j', async (auth) => {
    await expect(routeWith(auth)).resolves.toBeUndefined()
  })
})

describe('the header Authorization', () => {
  const NO_TOKEN = 'The Authorization header holds no bearer token'

  it.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['Bearer   a.b-c_d~e+f/g==', 'a.b-c_d~e+f/g=='],
    ['Basic YTpi', NO_TOKEN],
    ['XBearer abc', NO_TOKEN],
    ['BearerX abc', NO_TOKEN],
    ['Bearerabc', NO_TOKEN],
    ['Bearer ', NO_TOKEN],
    ['Bearer a b', NO_TOKEN],
    ['Bearer a=b', NO_TOKEN],
    ['Bearer a,b', NO_TOKEN],
  ])('%j holds %s', async (authorization, found) => {
    await using app = Fastify()
    await addAuthenticate(app)
    app.get('/token', { auth: 'authenticated' }, (request) => ({ message: request.jwt.data.role }))
    const response = await app.inject({ url: '/token', headers: { authorization } })
    expect(response.json()).toMatchObject({
      message: found,
      ...(found === NO_TOKEN ? { code: 'invalid_token' } : {}),
    })
  })
})

describe('the token of a request', () => {
  /** Returns a route's answer to a user who has a role now: a status, the role that it sees, and what the login had to be. */
  async function ask(auth: RouteGuard, role: string, options: Partial<AuthenticateOptions> = {}) {
    await using app = Fastify()
    let required: unknown
    await addAuthenticate(app, {
      validity: { requireValid: async () => claimsOf(role) },
      requireLogin: (_claims, given) => {
        required = given
      },
      hasSecondFactor: true,
      ...options,
    })
    app.get('/notes', { auth, config: { url: '/kept' } }, ({ jwt, routeOptions: { config } }) => {
      return { role: jwt?.data.role ?? jwt, isProtected: config.isProtected ?? false, url: config.url }
    })
    const response = await app.inject({ url: '/notes', headers: { authorization: 'Bearer signed' } })
    return { ...response.json(), required }
  }

  it('is ignored by a public route', async () => {
    expect(await ask('public', 'user')).toEqual({ role: null, isProtected: false, url: '/notes' })
  })

  it('is checked for its revocation, but by the handler of a signed route', async () => {
    const required = { secondFactor: false, maxAgeSeconds: undefined }
    expect(await ask('authenticated', 'user')).toMatchObject({ role: 'user', isProtected: true, required })
    expect(await ask('signed', 'user')).toMatchObject({ role: 'signed', isProtected: true, required })
  })

  it('is refused where the user has not the role now', async () => {
    expect(await ask({ role: 'admin' }, 'admin')).toMatchObject({ role: 'admin' })
    expect(await ask({ role: ['user', 'admin'] }, 'admin')).toMatchObject({ role: 'admin' })
    for (const role of ['admin', ['admin']])
      expect(await ask({ role }, 'user')).toMatchObject({
        code: 'forbidden',
        message: expect.stringContaining('admin'),
      })
  })

  it.each<{ auth: RouteGuard; role: string; secondFactor: boolean; maxAgeSeconds?: number }>([
    { auth: 'authenticated', role: 'user', secondFactor: false },
    { auth: 'authenticated', role: 'admin', secondFactor: true },
    { auth: { secondFactor: true }, role: 'user', secondFactor: true },
    { auth: { secondFactor: 'enrolling' }, role: 'admin', secondFactor: false },
    { auth: { maxAgeSeconds: 300 }, role: 'user', secondFactor: false, maxAgeSeconds: 300 },
  ])('needs a login by $auth of the role $role', async ({ auth, role, secondFactor, maxAgeSeconds }) => {
    const { required } = await ask(auth, role, { secondFactorRoles: ['admin'] })
    expect(required).toEqual({ secondFactor, maxAgeSeconds })
  })

  it('needs no second factor on a signed route, whose handler checks the login', async () => {
    const { required } = await ask('signed', 'admin', { secondFactorRoles: ['signed'] })
    expect(required).toMatchObject({ secondFactor: false })
  })
})
