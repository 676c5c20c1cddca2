import { inspect } from 'node:util'
import Fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { type AuthMarker, authenticate } from './authenticate.ts'
import { importSigningKey } from './signing-key.ts'
import { createTokenVerifier } from './verify-token.ts'

/** A route with an `auth` that TypeScript would refuse, as JavaScript does not. */
async function routeWith(auth: unknown): Promise<void> {
  await using app = Fastify()
  const key = await importSigningKey(new Uint8Array(64))
  await app.register(authenticate, {
    verifier: createTokenVerifier({ keys: [key], issuer: 'latchkey', clock: Date.now }),
    validity: {
      recall: () => undefined,
      check: async (claims) => claims,
    },
    auditOf: () => ({ address: '192.0.2.1', report: () => undefined, write: async () => undefined }),
    roles: ['user', 'admin'],
  })
  app.get('/notes', { auth: auth as AuthMarker }, () => 'open')
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
  ])('cannot be declared with the auth marker %j', async (auth) => {
    await expect(routeWith(auth)).rejects.toThrow(
      "The route /notes has an auth marker that is neither 'authenticated', 'signed' nor { role }",
    )
  })

  it.each([[{ role: 'boss' }], [{ role: ['admin', 'boss'] }]])(
    'cannot require a role that is not declared: %j',
    async (auth) => {
      await expect(routeWith(auth)).rejects.toThrow('The route /notes requires the role boss, which is not')
    },
  )

  it.each([['authenticated'], ['signed'], [{ role: 'user' }], [{ role: ['user', 'admin'] }]])(
    'is closed with the auth marker %j',
    async (auth) => {
      await expect(routeWith(auth)).resolves.toBeUndefined()
    },
  )
})

it('keeps the signing key from being read', async () => {
  const key = await importSigningKey(Buffer.from('a secret of 64 bytes'.padEnd(64)))
  expect(key.webCrypto).toMatchObject({ extractable: false, usages: ['sign', 'verify'] })
  expect(inspect(key, { depth: 9, showHidden: true }) + JSON.stringify(key)).not.toContain('secret of')
})
