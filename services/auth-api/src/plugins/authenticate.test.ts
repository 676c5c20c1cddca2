import { inspect } from 'node:util'
import Fastify, { type FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
import { importSecret } from '../tokens/signing-keys.ts'
import { createTokenVerifier } from '../tokens/verify-token.ts'
import { authenticate, type RouteGuard } from './authenticate.ts'

async function addAuthenticate(app: FastifyInstance): Promise<void> {
  const key = await importSecret(new Uint8Array(64))
  await app.register(authenticate, {
    verifier: createTokenVerifier({ keys: [key], issuer: 'latchkey', clock: Date.now }),
    validity: { check: async (claims) => claims },
    auditOf: () => ({
      address: '192.0.2.1',
      agent: '',
      report: () => undefined,
      write: async () => undefined,
    }),
    roles: ['user', 'admin'],
    requireLogin: () => undefined,
    secondFactorRoles: [],
    hasSecondFactor: false,
  })
}

/** A route with an `auth` that TypeScript would refuse, as JavaScript does not. */
async function routeWith(auth: unknown): Promise<void> {
  await using app = Fastify()
  await addAuthenticate(app)
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

  it.each([['authenticated'], ['signed'], [{ role: 'user' }], [{ role: ['user', 'admin'] }]])(
    'is closed with the auth option %j',
    async (auth) => {
      await expect(routeWith(auth)).resolves.toBeUndefined()
    },
  )
})

it('keeps the signing key from being read', async () => {
  const { signing: key } = await importSecret(Buffer.from('a secret of 64 bytes'.padEnd(64)))
  expect(key).toMatchObject({ extractable: false, usages: ['sign', 'verify'] })
  expect(inspect(key, { depth: 9, showHidden: true }) + JSON.stringify(key)).not.toContain('secret of')
})
