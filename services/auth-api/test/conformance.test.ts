import { anyCharacter } from '@latchkey/shared/test/any-character.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { aToken, bearer, signToken, startApp, type TestApp } from './support/start-app.ts'

const REQUESTS = 1_000
/** Text that no answer and no log line may contain: a stack, SQL, or an address of the service's own. */
const INTERNALS =
  /\n\s+at |node_modules|\.ts:\d|\bselect [\w.*]+,? .*\bfrom\b|insert into|postgres(ql)?:\/\/|ECONN/i
const HOSTILE = [
  '',
  '\u0000',
  "' or 1=1 --",
  '\ud800',
  'é'.repeat(300),
  'a@x.example, b@x.example',
  '\r\nA: b',
]

const Content = z.record(
  z.string(),
  z.object({
    schema: z.record(z.string(), z.unknown()),
    examples: z.record(z.string(), z.object({ value: z.object({ type: z.string() }) })).default({}),
  }),
)
const Response = z.object({ $ref: z.string().optional(), content: Content.default({}) })
const Document = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        requestBody: z.object({ content: Content }).optional(),
        responses: z.record(z.string(), Response),
      }),
    ),
  ),
  components: z.object({
    schemas: z.record(z.string(), z.object({ properties: z.record(z.string(), z.unknown()).default({}) })),
    responses: z.record(z.string(), Response),
  }),
})
const MemberName = z.string().regex(/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/)
const Described = z.record(MemberName, z.unknown()).pipe(z.looseObject({ type: z.string() }))

type Operation = Awaited<ReturnType<typeof readOperations>>[number]

/** The operations of the OpenAPI document: the members of their bodies, and the responses by their statuses. */
async function readOperations({ server }: TestApp) {
  const json = (await server.inject({ url: '/openapi.json' })).json()
  const { paths, components } = Document.parse(json)
  const $defs = JSON.parse(
    JSON.stringify(json.components.schemas).replaceAll('#/components/schemas/', '#/$defs/'),
  )
  const nameOf = ($ref: unknown) => String($ref).split('/').at(-1) ?? ''
  const validatorOf = (schema: Record<string, unknown> = {}) =>
    z.fromJSONSchema({ ...(schema.$ref ? { $ref: `#/$defs/${nameOf(schema.$ref)}` } : schema), $defs })
  return Object.entries(paths).flatMap(([url, methods]) =>
    Object.entries(methods).map(([method, { requestBody, responses }]) => {
      const [body] = Object.values(requestBody?.content ?? {})
      const declared = Object.entries(responses).map(([status, response]) => {
        const { content = {} } = response.$ref
          ? (components.responses[nameOf(response.$ref)] ?? {})
          : response
        const [media] = Object.values(content)
        const problems = Object.values(media?.examples ?? {}).map(({ value }) => value.type)
        return [status, { schema: media && validatorOf(media.schema), problems }] as const
      })
      const members = Object.keys(components.schemas[nameOf(body?.schema.$ref)]?.properties ?? {})
      return { method: method.toUpperCase() as 'POST', url, members, responses: new Map(declared) }
    }),
  )
}

/** Most requests have the declared form; in the others one part is anything else. */
function requestsTo(
  operations: readonly Operation[],
  known: Record<string, readonly (string | boolean)[]>,
  tokens: string[],
) {
  const anything = fc.oneof(
    fc.constantFrom(...HOSTILE),
    fc.string({ unit: anyCharacter, maxLength: 60 }),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const bodyOf = (members: readonly string[]) => {
    const memberOf = (name: string) =>
      fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...(known[name] ?? HOSTILE)) }, anything)
    const json = fc
      .record(Object.fromEntries([...members, 'role'].map((name) => [name, memberOf(name)])), {
        requiredKeys: [...members],
      })
      .map((body) => JSON.stringify(body))
    const other = fc.oneof(
      json.map((text) => text.slice(1)),
      fc.json(),
      fc.string(),
    )
    return fc.oneof({ weight: 12, arbitrary: json }, { weight: 1, arbitrary: other })
  }
  const headers = fc.record({
    authorization: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...tokens).map((token) => bearer(token).authorization) },
      { weight: 1, arbitrary: fc.string({ maxLength: 40 }).map((text) => `Bearer ${text.trim()}`) },
    ),
    'content-type': fc.oneof(
      { weight: 12, arbitrary: fc.constant('application/json') },
      fc.constantFrom('text/plain', 'application/json; charset=utf-16'),
    ),
  })
  return fc.constantFrom(...operations).chain((operation) =>
    fc.record({
      operation: fc.constant(operation),
      headers,
      // One address would soon be refused for its failed logins.
      address: fc.nat({ max: 99 }).map((number) => `192.0.2.${number}`),
      payload: operation.members.length > 0 ? bodyOf(operation.members) : fc.constant(undefined),
    }),
  )
}

it('answers any request as its document says, and reveals nothing of itself', async () => {
  await using app = await startApp({ settings: { SIGN_UP: 'on', LOGIN_BY_MAIL: 'on' } })
  const operations = await readOperations(app)
  // A request may end all tokens of its user, and the others go on.
  const users = await Promise.all(Array.from({ length: 8 }, () => aUser(app)))
  const [user, admin] = [await aUser(app), await aUser(app, { role: 'admin' })]
  const emails = users.map(({ email }) => email)
  const tokens = [
    ...(await Promise.all([...users, ...users, admin].map((each) => aToken(app, each)))),
    await signToken(app, user, { claims: { exp: Math.floor(Date.now() / 1000) + 200 } }),
    await signToken(app, user, { claims: { exp: 1 } }),
  ]
  const lasting = await Promise.all(
    users.map(async ({ email }) => {
      const payload = { username: email, password: PASSWORD, remember: true }
      return String(
        (await app.server.inject({ method: 'POST', url: '/login', payload })).json().refresh_token,
      )
    }),
  )
  const newcomers = emails.map((_, index) => `newcomer${index}`)
  const known = {
    email: [...emails, ...newcomers.map((name) => `${name}@example.com`)],
    username: [...emails, ...newcomers],
    password: [PASSWORD, PASSWORD, 'An0ther-Good!Pass', 'short'],
    current_password: [PASSWORD, 'wrong'],
    code: ['123456'],
    name: ['Ünïcödé'],
    language: ['fr'],
    remember: [true, false, 'cookie'],
    refresh_token: lasting,
  }
  const seen = new Set<string>()
  const property = fc.asyncProperty(requestsTo(operations, known, tokens), async (request) => {
    const { operation, ...sent } = request
    const { method, url, responses } = operation
    const { statusCode, headers, body } = await app.server.inject({
      method,
      url,
      remoteAddress: sent.address,
      headers: sent.headers,
      ...(sent.payload === undefined ? {} : { payload: sent.payload }),
    })
    const declared = responses.get(String(statusCode))
    const shown = `${method} ${url}: ${statusCode} ${body}`
    expect(declared, shown).toBeDefined()
    expect(statusCode, shown).toBeLessThan(500)
    seen.add(statusCode < 300 ? url : String(statusCode))
    if (declared?.schema)
      expect(declared.schema.safeParse(JSON.parse(body)), shown).toMatchObject({ success: true })
    if (statusCode < 400) return
    expect(headers['content-type'], shown).toBe('application/problem+json')
    expect(declared?.problems, shown).toContain(Described.parse(JSON.parse(body)).type)
    for (const secret of [PASSWORD, ...tokens]) expect(body, shown).not.toContain(secret)
    expect(body, shown).not.toMatch(INTERNALS)
  })
  await fc.assert(property, { numRuns: REQUESTS })
  const log = app.logLines.join('')
  expect(log).not.toMatch(/"level":"(error|fatal)"/)
  expect(log).not.toMatch(INTERNALS)
  for (const secret of [PASSWORD, ...tokens, ...lasting]) expect(log).not.toContain(secret)
  // Otherwise the requests do not reach what they are to test.
  expect([...seen]).toEqual(
    expect.arrayContaining(['400', '401', '403', '415', '422', '/login', '/profile', '/signup']),
  )
})
