import { inspect } from 'node:util'
import { AppError } from '@latchkey/shared/app-error.ts'
import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { someClaims } from '../../test/support/claims.ts'
import type { Claims } from '../tokens/claims.ts'
import { importSigningKey } from '../tokens/issue-token.ts'
import { createTokenVerifier } from '../tokens/verify-token.ts'
import { authenticate, type RouteGuard } from './authenticate.ts'

/** A route with an `auth` that TypeScript would refuse, as JavaScript does not. */
async function routeWith(auth: unknown): Promise<void> {
  await using app = Fastify()
  const key = await importSigningKey(new Uint8Array(64))
  await app.register(authenticate, {
    verifier: createTokenVerifier({ keys: [key], issuer: 'latchkey', clock: Date.now }),
    validity: { check: async (claims) => claims },
    auditOf: () => ({ address: '192.0.2.1', report: () => undefined, write: async () => undefined }),
    roles: ['user', 'admin'],
  })
  app.get('/notes', { auth: auth as RouteGuard }, () => 'open')
  const response = await app.inject('/notes')
  expect(response.statusCode).toBe(500)
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
  ])('cannot be declared with the auth option %j', async (auth) => {
    await expect(routeWith(auth)).rejects.toThrow(
      "The route /notes has an auth option that is neither 'authenticated', { role } nor 'public'",
    )
  })

  it.each([[{ role: 'boss' }], [{ role: ['admin', 'boss'] }]])(
    'cannot require a role that is not declared: %j',
    async (auth) => {
      await expect(routeWith(auth)).rejects.toThrow('The route /notes requires the role boss, which is not')
    },
  )

  it.each([['authenticated'], ['signed'], [{ role: 'user' }], [{ role: ['user', 'admin'] }]])(
    'is closed with the auth option %j',
    async (auth) => {
      await expect(routeWith(auth)).resolves.toBeUndefined()
    },
  )
})

it('keeps the signing key from being read', async () => {
  const key = await importSigningKey(Buffer.from('a secret of 64 bytes'.padEnd(64)))
  expect(key).toMatchObject({ extractable: false, usages: ['sign', 'verify'] })
  expect(inspect(key, { depth: 9, showHidden: true }) + JSON.stringify(key)).not.toContain('secret of')
})

const CLAIMS = someClaims()
const AS_ADMIN = { ...CLAIMS, data: { ...CLAIMS.data, role: 'admin' } }

/** A request to a route with this marker: the code and message of its refusal, or the role, and the steps taken. */
async function ask(
  auth: RouteGuard | undefined,
  authorization: string | undefined,
  /** What the database says of its user. */
  current: Claims = CLAIMS,
) {
  await using app = Fastify()
  const steps: string[] = []
  app.setErrorHandler((error, _request, reply) =>
    error instanceof AppError ? reply.code(401).send(`${error.code}: ${error.message}`) : reply.send(error),
  )
  await app.register(authenticate, {
    verifier: {
      async verify(token) {
        steps.push(`verify ${token}`)
        if (token !== 'good') throw new AppError('invalid_token', 'The token is not valid')
        return CLAIMS
      },
    },
    validity: {
      async check(claims, audit) {
        steps.push(`check ${claims.jti}`)
        audit.report({ name: 'token.refreshed', userid: claims.sub })
        return current
      },
    },
    auditOf: ({ url }) => ({
      address: '192.0.2.1',
      report: ({ name }) => void steps.push(`report ${name} of ${url}`),
      write: async () => undefined,
    }),
    roles: ['user', 'admin', 'editor', 'administrator', 'min'],
  })
  app.addHook('onRequest', async () => void steps.push('a hook of the service'))
  const onRequest = async () => void steps.push('a hook of the route')
  app.get('/', { ...(auth && { auth }), onRequest }, (request) => request.jwt?.data.role ?? 'public')
  const headers = authorization === undefined ? {} : { authorization }
  const response = await app.inject({ url: '/', headers })
  const taken = [...steps]
  const head = await app.inject({ method: 'HEAD', url: '/', headers })
  expect(head.statusCode).toBe(response.statusCode)
  return { answer: response.body, steps: taken }
}

const HOOKS = ['a hook of the service', 'a hook of the route']
const answerOf = async (...given: Parameters<typeof ask>) => (await ask(...given)).answer

describe('a request', () => {
  it.each([
    { authorization: undefined, answer: 'invalid_token: Send a token as Authorization: Bearer <token>' },
    ...[
      '',
      'good',
      'Basic good',
      'Bearer',
      'Bearer ',
      'Bearergood',
      'Bearer good good',
      'Bearer =',
      'xBearer good',
      'Bearer g,d',
    ].map((authorization) => ({
      authorization,
      answer: 'invalid_token: The Authorization header holds no bearer token',
    })),
    { authorization: 'Bearer other', answer: 'invalid_token: The token is not valid' },
    { authorization: 'Bearer ~+/.-_Az9==', answer: 'invalid_token: The token is not valid' },
    { authorization: 'Bearer good', answer: 'user' },
    { authorization: 'bEARER   good', answer: 'user' },
  ])('with the header $authorization: $answer', async ({ authorization, answer }) => {
    expect(await answerOf('authenticated', authorization)).toBe(answer)
    expect(await answerOf('signed', authorization)).toBe(answer)
    expect(await answerOf(undefined, authorization)).toBe('public')
  })

  it('is refused before anything else happens', async () => {
    expect((await ask('authenticated', 'Bearer other')).steps).toEqual([HOOKS[0], 'verify other'])
    expect((await ask('authenticated', undefined)).steps).toEqual([HOOKS[0]])
  })

  it('is checked by the database once its signature is verified', async () => {
    expect(await ask('authenticated', 'Bearer good', AS_ADMIN)).toEqual({
      answer: 'admin',
      steps: [HOOKS[0], 'verify good', 'check one', 'report token.refreshed of /', HOOKS[1]],
    })
  })

  it('of a signed route needs only a signature', async () => {
    expect(await ask('signed', 'Bearer good', AS_ADMIN)).toEqual({
      answer: 'user',
      steps: [HOOKS[0], 'verify good', HOOKS[1]],
    })
  })

  it.each([
    { role: 'admin', current: CLAIMS, answer: 'forbidden: The role admin is required' },
    { role: ['admin', 'editor'], current: CLAIMS, answer: 'forbidden: The role admin or editor is required' },
    { role: ['admin', 'user'], current: CLAIMS, answer: 'user' },
    { role: 'admin', current: AS_ADMIN, answer: 'admin' },
    { role: 'administrator', current: AS_ADMIN, answer: 'forbidden: The role administrator is required' },
    { role: 'min', current: AS_ADMIN, answer: 'forbidden: The role min is required' },
  ])('needs the role that the user now has: $role, $answer', async ({ role, current, answer }) => {
    expect(await answerOf({ role }, 'Bearer good', current)).toBe(answer)
  })
})

it('guards each route by its own roles, marks it, and leaves public routes alone', async () => {
  await using app = Fastify()
  const key = await importSigningKey(new Uint8Array(64))
  await app.register(authenticate, {
    verifier: createTokenVerifier({ keys: [key], issuer: 'latchkey', clock: Date.now }),
    validity: { check: async (claims) => claims },
    auditOf: () => ({ address: '192.0.2.1', report: () => undefined, write: async () => undefined }),
    roles: ['user', 'admin'],
  })
  const guards = new Map<string, unknown>()
  const protection = new Map<string, boolean | undefined>()
  app.addHook('onRoute', ({ url, onRequest, config }) => {
    guards.set(url, [onRequest ?? []].flat()[0])
    protection.set(url, config?.isProtected)
  })
  app.get('/any', { auth: 'authenticated' }, () => '')
  app.get('/admin', { auth: { role: 'admin' } }, () => '')
  app.get('/admin-too', { auth: { role: ['admin'] }, config: { isProbe: true } }, () => '')
  app.get('/user', { auth: { role: 'user' } }, () => '')
  app.get('/public', () => '')
  await app.ready()
  expect(app.hasRequestDecorator('jwt')).toBe(true)
  expect(guards.get('/public')).toBeUndefined()
  expect([...protection.values()]).toEqual([true, true, true, true, undefined])
})
