import { randomBytes } from 'node:crypto'
import { generatePrivateKey } from '@latchkey/shared/secrets/private-key.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { RENAMED_MEMBERS } from '../src/http/renamed-members.ts'
import { aToken, bearer, startApp, type TestApp } from './support/start-app.ts'

const SNAKE_CASE = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/
/** The members that have an object of WebAuthn, which names what is in it. */
const WEBAUTHN_OBJECTS = ['credential', 'publicKey']
/** Every option that adds a route. */
const EVERY_FEATURE = {
  SIGN_UP: 'on',
  LOGIN_BY_MAIL: 'on',
  ACCOUNT_DELETION: 'on',
  ACCOUNT_PAGES: 'on',
  EMAIL_CHANGE: 'confirmed',
  SECOND_FACTOR: 'on',
  FACTOR_SECRET: randomBytes(32).toString('base64'),
  JWT_PRIVATE_KEY_NEXT: generatePrivateKey('ed25519'),
}

const Reference = z.object({ $ref: z.string() })
const Operation = z.looseObject({
  operationId: z.string(),
  parameters: z.array(z.object({ name: z.string(), in: z.string() })).default([]),
  requestBody: z
    .object({
      content: z.record(
        z.string(),
        z.object({ schema: Reference, example: z.record(z.string(), z.unknown()).default({}) }),
      ),
    })
    .optional(),
})
const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.looseObject({
    schemas: z.record(
      z.string(),
      z.looseObject({ properties: z.record(z.string(), z.unknown()).default({}) }),
    ),
  }),
})

let app: TestApp
let document: z.output<typeof Document>

beforeAll(async () => {
  app = await startApp({ settings: EVERY_FEATURE })
  // No route of Latchkey's has a parameter in its query.
  const querystring = z.object({ current_password: z.string().optional() })
  app.server.get('/by-query', { schema: { operationId: 'byQuery', querystring } }, async () => ({}))
  document = Document.parse((await app.server.inject({ url: '/openapi.json' })).json())
})
afterAll(() => app[Symbol.asyncDispose]())

/** The operations, each with an example of its body and the names that a request may have. */
const listOperations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { parameters, requestBody }]) => {
      const [body] = Object.values(requestBody?.content ?? {})
      const schema = document.components.schemas[body?.schema.$ref.split('/').at(-1) ?? '']
      return {
        route: `${method.toUpperCase()} ${path}`,
        request: { method: method.toUpperCase() as 'POST', url: path.replace('{id}', crypto.randomUUID()) },
        example: body?.example,
        members: Object.keys(schema?.properties ?? {}),
        query: parameters.flatMap((each) => (each.in === 'query' ? [each.name] : [])),
      }
    }),
  )

/** Finds the names that schemas and parameters declare, and those of examples. */
function findDeclaredNames(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([key, value]) => {
    if (key === 'properties')
      return Object.entries(z.record(z.string(), z.unknown()).parse(value)).flatMap(([name, schema]) =>
        WEBAUTHN_OBJECTS.includes(name) ? [name] : [name, ...findDeclaredNames(schema)],
      )
    if (key === 'example') return findMembers(value)
    if (key === 'examples') return Object.values(value).flatMap(findMembers)
    return findDeclaredNames(value)
  })
}

const findMembers = (value: unknown): string[] =>
  Array.isArray(value)
    ? value.flatMap(findMembers)
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, inner]) =>
          WEBAUTHN_OBJECTS.includes(name) ? [name] : [name, ...findMembers(inner)],
        )
      : []

/** The names that are not in snake_case. */
const findOthers = (names: string[]) => names.filter((name) => !SNAKE_CASE.test(name))

describe('the names of the wire', () => {
  it('are in snake_case in the OpenAPI document, except in the objects of WebAuthn', () => {
    const names = findDeclaredNames(document)
    const query = listOperations().flatMap((operation) => operation.query)
    expect(names).toEqual(expect.arrayContaining(['current_password', 'recovery_codes', ...WEBAUTHN_OBJECTS]))
    expect(query).toEqual(['current_password'])
    const isOther = (name: string) => !WEBAUTHN_OBJECTS.includes(name)
    expect(findOthers([...names, ...query]).filter(isOther)).toEqual([])
  })

  it('are in snake_case in what the account pages read', async () => {
    const names = findMembers((await app.server.inject({ url: '/account/settings.json' })).json())
    expect(names).toContain('login_field')
    expect(findOthers(names)).toEqual([])
  })
})

describe('a former name', () => {
  const refuses: string[] = []

  it.each(Object.entries(RENAMED_MEMBERS))(
    'is refused by every operation that has its member, and names it: %s',
    async (former, name) => {
      const token = await aToken(app, await aUser(app))
      for (const { route, request, example, members, query } of listOperations()) {
        const isInBody = members.includes(name)
        if (!isInBody && !query.includes(name)) continue
        const { [name]: _, ...others } = example ?? {}
        const { statusCode, body } = await app.server.inject({
          ...request,
          headers: bearer(token),
          ...(isInBody
            ? { payload: { ...others, [former]: 'c0rrect-Horse!' } }
            : { query: { [former]: 'x' } }),
        })
        expect(statusCode, `${route}: ${body}`).toBe(400)
        expect(JSON.parse(body), route).toMatchObject({
          type: 'urn:latchkey:problem:invalid-input',
          detail: isInBody ? 'The body is not valid' : `The query parameter ${former} is not valid`,
          errors: [{ path: former, message: `must be sent as ${name}` }],
        })
        refuses.push(`${route}: ${former}`)
      }
      expect(refuses.toSorted()).toEqual([
        'GET /by-query: currentPassword',
        'POST /login/stepup: currentPassword',
        'POST /profile/delete: currentPassword',
        'POST /profile/factors/passkey: currentPassword',
        'POST /profile/factors/totp: currentPassword',
        'PUT /profile/password: currentPassword',
        'PUT /profile: currentPassword',
      ])
    },
  )

  it.each(Object.entries(RENAMED_MEMBERS))(
    'is ignored by every other operation, as any unknown member is: %s',
    async (former, name) => {
      const user = await aUser(app)
      const others = listOperations().filter(
        ({ example, members, query }) => example && !members.includes(name) && !query.includes(name),
      )
      expect(others.map(({ route }) => route)).toContain('POST /signup')
      for (const { route, request, example } of others) {
        const { body } = await app.server.inject({
          ...request,
          // One of these requests ends the session.
          headers: bearer(await aToken(app, user)),
          payload: { ...example, [former]: 'c0rrect-Horse!' },
        })
        expect(body, route).not.toContain(former)
      }
    },
  )

  it.each(['null', '5', '[]'])('is looked for in objects only: %s is refused as before', async (payload) => {
    const headers = { ...bearer(await aToken(app, await aUser(app))), 'content-type': 'application/json' }
    const refused = await app.server.inject({ method: 'PUT', url: '/profile/password', headers, payload })
    expect(refused.json()).toMatchObject({ status: 400, errors: [{ message: 'must be a JSON object' }] })
  })

  it("is accepted where a team's own route has it", async () => {
    await using own = await startApp({ database: app.database })
    const body = z.object({ currentPassword: z.string(), current_password: z.string().optional() })
    own.server.post('/own', { schema: { body } }, async (request) => request.body)
    const payload = { currentPassword: 'x' }
    expect((await own.server.inject({ method: 'POST', url: '/own', payload })).json()).toEqual(payload)
  })
})
