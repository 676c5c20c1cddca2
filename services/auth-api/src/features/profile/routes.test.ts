import { LANGUAGE_PROPERTY, type User } from '@latchkey/shared/users/user.ts'
import Fastify from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { problemDetails } from '../../plugins/problem-details.ts'
import type { Claims } from '../../tokens/claims.ts'
import { Profile } from './profile.ts'
import type { ProfileRecord } from './profile-repository.ts'
import { profileRoutes } from './routes.ts'

const ADA: User = {
  userid: '6f1c4d5e-0000-4000-8000-000000000000',
  name: 'Ada',
  email: 'ada@example.com',
  username: 'ada',
  role: null,
  passwordHash: 'x',
  createdAt: new Date('2026-01-01T00:00:00Z'),
  updatedAt: null,
  deletedAt: null,
  properties: [
    { name: 'picture', value: 'p.png' },
    { name: 'device', value: 'one' },
    { name: 'device', value: null },
    { name: 'empty', value: null },
    { name: 'latchkey.valid_from', value: '1' },
    { name: LANGUAGE_PROPERTY, value: 'fr' },
  ],
}
const CLAIMS: Claims = {
  iss: 'latchkey',
  sub: ADA.userid,
  iat: 1_000,
  nbf: 1_000,
  exp: 4_600,
  jti: 'one',
  data: { userid: ADA.userid, name: 'Ada', role: 'user' },
}
const SHOWN = {
  userid: ADA.userid,
  name: 'Ada',
  email: 'ada@example.com',
  username: 'ada',
  role: 'user',
  language: 'fr',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: null,
  properties: { picture: 'p.png' },
}

/** The name of a schema in the OpenAPI document. */
const nameOf = (schema: unknown) => (schema instanceof z.ZodType ? schema.meta()?.id : undefined)

/** The routes, for the user of `CLAIMS`, whose profile is `found`. */
async function build(found: ProfileRecord | undefined, shownProperties: readonly string[] = ['picture']) {
  const app = Fastify()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  await app.register(problemDetails, {})
  const routes: unknown[] = []
  const changes: unknown[] = []
  app.addHook('onRoute', ({ method, url, auth, problems, schema }) => {
    if (method === 'HEAD') return
    const { operationId, body, response } = z
      .object({
        operationId: z.string(),
        body: z.unknown().optional(),
        response: z.object({ 200: z.unknown() }),
      })
      .parse(schema)
    routes.push({
      method,
      url,
      auth,
      problems,
      operationId,
      body: nameOf(body),
      answer: nameOf(response[200]),
    })
  })
  app.decorateRequest('jwt', { getter: () => CLAIMS })
  await app.register(profileRoutes, {
    findProfile: async (userid) => (userid === ADA.userid ? found : undefined),
    shownProperties,
    async updateProfile({ jwt }, change) {
      changes.push([jwt.jti, change])
      return found
    },
  })
  return { app, routes, changes }
}

describe('a profile', () => {
  it('is shown by both routes, which need a token', async () => {
    const { app, routes, changes } = await build({ user: ADA })
    expect((await app.inject('/profile')).json()).toEqual(SHOWN)
    const payload = { name: 'Grace', language: 'pt', role: 'admin' }
    expect((await app.inject({ method: 'PUT', url: '/profile', payload })).json()).toEqual(SHOWN)
    expect(changes).toEqual([['one', { name: 'Grace', language: 'pt' }]])
    expect(routes).toEqual([
      {
        method: 'GET',
        url: '/profile',
        auth: 'authenticated',
        problems: undefined,
        operationId: 'getProfile',
        body: undefined,
        answer: 'Profile',
      },
      {
        method: 'PUT',
        url: '/profile',
        auth: 'authenticated',
        problems: ['email_taken', 'wrong_password', 'overloaded'],
        operationId: 'updateProfile',
        body: 'ProfileUpdate',
        answer: 'Profile',
      },
    ])
    await app.close()
  })

  it('has times in the form of RFC 3339', () => {
    const time = { format: 'date-time' }
    expect(z.toJSONSchema(Profile)).toMatchObject({
      $defs: { Profile: { properties: { created_at: time, updated_at: time } } },
    })
  })

  it('has a pending e-mail, the moment of its last change, and null where there is nothing', async () => {
    const user = { ...ADA, name: null, email: null, createdAt: null, updatedAt: new Date(0), properties: [] }
    const { app } = await build({ user, pendingEmail: 'new@example.com' })
    expect((await app.inject('/profile')).json()).toEqual({
      ...SHOWN,
      name: null,
      email: null,
      pendingEmail: 'new@example.com',
      language: 'en',
      created_at: null,
      updated_at: '1970-01-01T00:00:00.000Z',
      properties: {},
    })
    await app.close()
  })

  it.each([
    { shown: ['device', 'empty', 'latchkey.valid_from'], properties: { device: ['one', null], empty: null } },
    {
      shown: ['*'],
      properties: { picture: 'p.png', device: ['one', null], empty: null, [LANGUAGE_PROPERTY]: 'fr' },
    },
    { shown: [], properties: {} },
  ])('shows the properties $shown', async ({ shown, properties }) => {
    const { app } = await build({ user: ADA }, shown)
    expect((await app.inject('/profile')).json().properties).toEqual(properties)
    await app.close()
  })

  it.each([
    { why: 'gone', found: undefined },
    { why: 'deleted', found: { user: { ...ADA, deletedAt: new Date() } } },
  ])('of a user who is $why is refused', async ({ found }) => {
    const { app } = await build(found)
    for (const method of ['GET', 'PUT'] as const) {
      const response = await app.inject({ method, url: '/profile', ...(method === 'PUT' && { payload: {} }) })
      expect(response.json()).toMatchObject({
        status: 401,
        detail: 'The user of this token no longer exists',
      })
    }
    await app.close()
  })

  it.each([
    { body: [], path: '', message: 'must be a JSON object' },
    { body: { name: 'x'.repeat(51) }, path: 'name', message: 'must be at most 50 characters' },
    { body: { email: 'ada' }, path: 'email', message: 'must be one e-mail address' },
    { body: { currentPassword: 7 }, path: 'currentPassword', message: 'must be a string' },
    { body: { language: 'de' }, path: 'language', message: 'must be one of en, fr, pt' },
  ])('is not changed to $body', async ({ body, path, message }) => {
    const { app, changes } = await build({ user: ADA })
    const response = await app.inject({ method: 'PUT', url: '/profile', payload: body })
    expect(response.statusCode).toBe(400)
    expect(response.json().errors[0]).toEqual({ path, message })
    expect(changes).toEqual([])
    await app.close()
  })
})
