import { aUser } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { enrolUser, factorSettings } from './support/factors.ts'
import { aToken, bearer, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { PROFILE_PROPERTIES: '*' } })
})
afterAll(() => app[Symbol.asyncDispose]())

const put = (token: string, payload: string | object) =>
  app.server.inject({
    method: 'PUT',
    url: '/profile',
    headers: { ...bearer(token), 'content-type': 'application/json' },
    payload,
  })
const read = async (token: string) =>
  (await app.server.inject({ url: '/profile', headers: bearer(token) })).json()

describe('metadata', () => {
  it('is an empty object at first, and belongs to one user', async () => {
    const [own, other] = [await aToken(app, await aUser(app)), await aToken(app, await aUser(app))]
    expect((await read(own)).metadata).toEqual({})
    const changed = await put(own, { metadata: { theme: 'dark' } })
    expect(changed.json()).toMatchObject({ metadata: { theme: 'dark' }, updated_at: expect.any(String) })
    expect((await read(own)).metadata).toEqual({ theme: 'dark' })
    expect((await read(other)).metadata).toEqual({})
  })

  // The examples of RFC 7396, appendix A, whose target and patch are objects.
  it.each<Record<'target' | 'patch' | 'result', object>>([
    { target: { a: 'b' }, patch: { a: 'c' }, result: { a: 'c' } },
    { target: { a: 'b' }, patch: { b: 'c' }, result: { a: 'b', b: 'c' } },
    { target: { a: 'b' }, patch: { a: null }, result: {} },
    { target: { a: 'b', b: 'c' }, patch: { a: null }, result: { b: 'c' } },
    { target: { a: ['b'] }, patch: { a: 'c' }, result: { a: 'c' } },
    { target: { a: 'c' }, patch: { a: ['b'] }, result: { a: ['b'] } },
    { target: { a: { b: 'c' } }, patch: { a: { b: 'd', c: null } }, result: { a: { b: 'd' } } },
    { target: { a: [{ b: 'c' }] }, patch: { a: [1] }, result: { a: [1] } },
    { target: {}, patch: { a: { bb: { ccc: null } } }, result: { a: { bb: {} } } },
    { target: { e: 'f' }, patch: { e: [null, { a: null }] }, result: { e: [null, { a: null }] } },
    { target: { a: 1 }, patch: {}, result: { a: 1 } },
    {
      target: {},
      patch: { constructor: { a: 1 }, toString: 2 },
      result: { constructor: { a: 1 }, toString: 2 },
    },
  ])('$target is patched by $patch', async ({ target, patch, result }) => {
    const token = await aToken(app, await aUser(app))
    await put(token, { metadata: target })
    const { metadata } = (await put(token, { metadata: patch })).json()
    expect(metadata).toEqual(result)
    expect((await put(token, { metadata })).json().metadata, 'sent back').toEqual(result)
  })

  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  const text = (bytes: number) => JSON.stringify({ a: 'x'.repeat(bytes - '{"a":""}'.length) })

  it.each([
    ['32 levels', nested(32)],
    ['8 KiB', text(8_192)],
    ['the greatest exact numbers', '{"a":[9007199254740991,-9007199254740991,0.1,1e-300]}'],
    ['any letters', '{"\\u0001\\u2028🗝":"\\n\\\\"}'],
  ])('is stored with %s', async (_, metadata) => {
    const token = await aToken(app, await aUser(app))
    expect((await put(token, `{"metadata":${metadata}}`)).statusCode).toBe(200)
    expect((await read(token)).metadata).toEqual(JSON.parse(metadata))
  })

  const DEEP = 'must not be nested deeper than 32 levels'
  const NUMBERS = 'must not contain whole numbers beyond 2^53; send them as strings'
  const LETTERS = 'must not contain NUL or half a surrogate pair'
  const LARGE = 'must be at most 8 KiB of JSON'

  it.each([
    ['33 levels', nested(33), DEEP],
    ['1,000 levels', nested(1_000), DEEP],
    ['1,000 arrays', `{"a":${'['.repeat(1_000)}${']'.repeat(1_000)}}`, DEEP],
    ['one byte more than 8 KiB', text(8_193), LARGE],
    [
      '8 KiB of letters that are two bytes',
      text(8_192).replaceAll('x', 'é').slice(0, 5_000).concat('"}'),
      LARGE,
    ],
    ['2^53', '{"a":9007199254740992}', NUMBERS],
    ['a rounded number', '{"a":{"b":[-9007199254740993]}}', NUMBERS],
    ['1e300', '{"a":1e300}', NUMBERS],
    ['a number that is infinite', '{"a":1e999}', NUMBERS],
    ['NUL', '{"a":"\\u0000"}', LETTERS],
    ['NUL in a name', '{"\\u0000":1}', LETTERS],
    ['half a pair', '{"a":"\\ud800"}', LETTERS],
    ['no object but a list', '[]', 'must be a JSON object'],
    ['no object but a text', '"{}"', 'must be a JSON object'],
    ['no object but null', 'null', 'must be a JSON object'],
  ])('is refused with %s, and nothing is stored', async (_, metadata, message) => {
    const token = await aToken(app, await aUser(app))
    const refused = await put(token, `{"name":"Never","metadata":${metadata}}`)
    expect(refused.json()).toMatchObject({ status: 400, errors: [{ path: 'metadata', message }] })
    expect(await read(token)).toMatchObject({ name: 'Ada', metadata: {} })
  })

  it.each(['{"__proto__":{"a":1}}', '{"a":{"__proto__":1}}', '{"constructor":{"prototype":{"a":1}}}'])(
    'is refused with a member that changes prototypes: %s',
    async (metadata) => {
      const token = await aToken(app, await aUser(app))
      expect((await put(token, `{"metadata":${metadata}}`)).statusCode).toBe(400)
      expect((await read(token)).metadata).toEqual({})
    },
  )

  it('counts its bytes after the merge', async () => {
    const token = await aToken(app, await aUser(app))
    const half = (name: string) => ({ metadata: { [name]: 'x'.repeat(5_000) } })
    expect((await put(token, half('one'))).statusCode).toBe(200)
    const refused = await put(token, { ...half('two'), name: 'Never' })
    expect(refused.json()).toMatchObject({ status: 400, errors: [{ path: 'metadata', message: LARGE }] })
    expect(await read(token)).toMatchObject({ name: 'Ada', ...half('one') })
    expect((await put(token, { metadata: { ...half('two').metadata, one: null } })).json()).toMatchObject(
      half('two'),
    )
  })

  it('keeps what two requests change at once', async () => {
    const token = await aToken(app, await aUser(app))
    const names = ['a', 'b', 'c', 'd', 'e']
    await Promise.all(names.map((name) => put(token, { metadata: { [name]: true } })))
    expect(Object.keys((await read(token)).metadata).toSorted()).toEqual(names)
  })
})

describe('what GET /profile gave', () => {
  it('can be sent back by anybody: with a name and without, with properties, and with metadata', async () => {
    const named = await aUser(app)
    const bare = await aUser(app)
    await app.users.setName(bare.userid, null)
    for (const user of [named, bare]) {
      await app.users.setProperty(user.userid, 'picture', 'p.png')
      const token = await aToken(app, user)
      await put(token, { language: 'fr', metadata: { a: [1] } })
      const given = await read(token)
      expect((await put(token, given)).json()).toEqual({ ...given, updated_at: expect.any(String) })
      const older = { ...given, updated_at: null, language: 'pt' }
      expect((await put(token, older)).json()).toMatchObject({ language: 'pt' })
    }
  })

  it('needs no second factor for the e-mail that it had', async () => {
    await using factors = await startApp({ database: app.database, settings: factorSettings() })
    const now = Date.now()
    const { token } = await enrolUser(factors, await aUser(factors), now)
    factors.setClock(now + 600_000)
    const request = { url: '/profile', headers: bearer(token) }
    const given = (await factors.server.inject(request)).json()
    const send = async (payload: object) =>
      (await factors.server.inject({ ...request, method: 'PUT', payload })).statusCode
    expect(await send(given)).toBe(200)
    expect(await send({ ...given, email: `new-${given.email}` })).toBe(401)
  })

  it.each([
    {
      change: { picture: 'p.png' },
      path: 'picture',
      message: 'is not stored; send it as a member of metadata',
    },
    { change: { properties: { picture: 'other' } }, path: 'properties' },
    { change: { properties: {} }, path: 'properties' },
    { change: { userid: crypto.randomUUID() }, path: 'userid' },
    { change: { username: 'root' }, path: 'username' },
    { change: { role: 'admin' }, path: 'role' },
    { change: { created_at: null }, path: 'created_at' },
    { change: { pending_email: 'eve@example.com' }, path: 'pending_email' },
    { change: { name: null }, path: 'name', message: 'must be a string' },
    { change: { email: null }, path: 'email', message: 'must be a string' },
  ])('is refused with another value of what is not stored: $change', async ({ change, path, message }) => {
    const user = await aUser(app)
    await app.users.setProperty(user.userid, 'picture', 'p.png')
    const token = await aToken(app, user)
    const given = { ...(await read(token)), ...change, language: 'pt', metadata: { a: 1 } }
    const reason = message ?? 'cannot be changed by this request; leave it out'
    expect((await put(token, given)).json()).toMatchObject({
      status: 400,
      errors: [{ path, message: reason }],
    })
    expect(await read(token)).toMatchObject({ language: 'en', metadata: {}, updated_at: null })
  })
})
