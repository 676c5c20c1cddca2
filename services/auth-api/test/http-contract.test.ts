import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { aToken, bearer, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { CORS_ORIGINS: 'https://app.example.com' } })
})
afterAll(() => app[Symbol.asyncDispose]())

const JSON_TYPE = { 'content-type': 'application/json' }
const postLogin = (payload: string | Buffer, headers: Record<string, string> = JSON_TYPE) =>
  app.server.inject({ method: 'POST', url: '/login', headers, payload })

describe('every response', () => {
  it.each([
    { method: 'GET', url: '/health/live' },
    { method: 'GET', url: '/nowhere' },
    { method: 'GET', url: '/%zz' },
    { method: 'DELETE', url: '/login' },
    { method: 'GET', url: '/profile' },
    { method: 'GET', url: '/docs' },
  ] as const)('carries a request id, nosniff and no-store: $method $url', async ({ method, url }) => {
    const { headers } = await app.server.inject({ method, url })
    expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['cache-control'] === 'no-store', 'is stored by no cache').toBe(url !== '/docs')
  })

  it.each([
    { id: 'trace-0123456789', kept: true },
    { id: 'short', kept: false },
    { id: 'a b c d e f g h', kept: false },
    { id: '"}\\u000a{"level":"fatal', kept: false },
    { id: 'x'.repeat(65), kept: false },
  ])('adopts a request id only when it is harmless: $id', async ({ id, kept }) => {
    const { headers } = await app.server.inject({ url: '/nowhere', headers: { 'x-request-id': id } })
    expect(headers['x-request-id'] === id).toBe(kept)
  })
})

describe('a problem', () => {
  const NO_ROUTE = 'No route has this path'
  const TYPES = { 400: 'bad-request', 404: 'not-found', 405: 'method-not-allowed' }

  it.each([
    { why: 'an unknown path', method: 'GET', url: '/nowhere', status: 404, detail: NO_ROUTE },
    { why: 'a trailing slash', method: 'GET', url: '/profile/', status: 404, detail: NO_ROUTE },
    { why: 'another case', method: 'GET', url: '/Profile', status: 404, detail: NO_ROUTE },
    { why: 'a doubled slash', method: 'GET', url: '//profile', status: 404, detail: NO_ROUTE },
    {
      why: 'a path that cannot be decoded',
      method: 'GET',
      url: '/%c3%28',
      status: 400,
      detail: 'The path is not valid',
    },
    {
      why: 'another method',
      method: 'DELETE',
      url: '/profile',
      status: 405,
      detail: 'This path allows GET, HEAD, PUT',
    },
    { why: 'TRACE', method: 'TRACE', url: '/login', status: 405, detail: 'This path allows POST' },
    {
      why: 'a method of no route',
      method: 'PROPFIND',
      url: '/login?x=1',
      status: 405,
      detail: 'This path allows POST',
    },
  ] as const)('describes $why', async ({ method, url, status, detail }) => {
    const response = await app.server.inject({ method: method as 'GET', url })
    expect(response.statusCode).toBe(status)
    expect(response.headers['content-type']).toBe('application/problem+json')
    expect(response.json()).toMatchObject({
      type: `urn:latchkey:problem:${TYPES[status]}`,
      status,
      detail,
      instance: response.headers['x-request-id'],
    })
  })
})

describe("a team's own routes", () => {
  const ok = async () => 'ok'

  it.each([
    { method: 'DELETE', url: '/reports/7', allow: 'GET, HEAD, PUT' },
    { method: 'DELETE', url: '/reports/7?x=1', allow: 'GET, HEAD, PUT' },
    { method: 'DELETE', url: '/reports/latest', allow: 'GET, HEAD, POST, PUT' },
    { method: 'GET', url: '/uploads/2026/11/a.png', allow: 'PUT' },
    { method: 'OPTIONS', url: '/uploads/a.png', allow: 'PUT' },
  ] as const)('answer 405 with Allow to $method $url', async ({ method, url, allow }) => {
    await using own = await startApp({ database: app.database })
    own.server.get('/reports/:id', ok)
    own.server.put('/reports/:id', ok)
    own.server.post('/reports/latest', ok)
    own.server.put('/uploads/*', ok)
    const response = await own.server.inject({ method, url })
    expect(response.statusCode).toBe(405)
    expect(response.headers.allow).toBe(allow)
    expect(response.json().type).toBe('urn:latchkey:problem:method-not-allowed')
    expect((await own.server.inject({ method, url: '/reports' })).statusCode, 'a path of no route').toBe(404)
  })

  it.each([
    { url: '/pages/1?size=0', detail: 'The query parameter size is not valid', paths: ['size'] },
    {
      url: '/pages/1?size=0&sort=x',
      detail: 'The query parameters size, sort are not valid',
      paths: ['size', 'sort'],
    },
    { url: '/pages/0?size=1', detail: 'The path parameter page is not valid', paths: ['page'] },
    { url: '/pages/1', detail: 'The query parameter size is not valid', paths: ['size'] },
  ])('name the parameter that is not valid: $url', async ({ url, detail, paths }) => {
    await using own = await startApp({ database: app.database })
    const params = z.object({ page: z.coerce.number().min(1) })
    const querystring = z.object({
      size: z.string().regex(/^[1-9]$/),
      sort: z.enum(['name']).optional(),
    })
    own.server.get('/pages/:page', { schema: { params, querystring } }, ok)
    const problem = (await own.server.inject({ url })).json()
    expect(problem).toMatchObject({ status: 400, detail })
    expect(problem.errors.map(({ path }: { path: string }) => path)).toEqual(paths)
    if (url === '/pages/1') expect(problem.errors).toEqual([{ path: 'size', message: 'is required' }])
  })

  it('may require a role of any letters: the challenge stays valid', async () => {
    const role = 'a"b\\ü Роль'
    await using own = await startApp({ database: app.database })
    own.server.get('/role', { auth: 'authenticated' }, async () => {
      throw new AppError('forbidden', `The role ${role} is required`)
    })
    const { statusCode, headers } = await own.server.inject({
      url: '/role',
      headers: bearer(await aToken(own, await aUser(own))),
    })
    expect(statusCode).toBe(403)
    // RFC 6750 §3: neither quotes nor backslashes, and ASCII only.
    expect(headers['www-authenticate']).toMatch(/error_description="The role [ !#-[\]-~]+ is required"$/)
  })
})

describe('an unready probe', () => {
  it('is answered 503 and logged as no failure', async () => {
    const nowhere = await openDatabase('postgres://nobody:secret@127.0.0.1:1/none')
    await using unready = await startApp({ database: { ...app.database, db: nowhere } })
    for (let probe = 0; probe < 3; probe++) {
      const response = await unready.server.inject({ url: '/health/ready' })
      expect(response.statusCode).toBe(503)
      expect(response.headers['retry-after']).toBe('1')
      expect(response.json()).toMatchObject({
        type: 'urn:latchkey:problem:unavailable',
        title: 'Temporarily unavailable',
        detail: 'Not ready for requests',
        checks: { database: 'unreachable' },
      })
    }
    expect(unready.logLines.filter((line) => /"level":"(warn|error)"|stack/.test(line))).toEqual([])
    expect(unready.logLines.join('')).not.toContain('secret')
    await nowhere.close()
  })
})

describe('the content-type gate', () => {
  const TYPE = 'The Content-Type must be application/json'
  const CHARSET = 'The charset of the body must be utf-8, and the Content-Type may have no other parameter'

  it.each([
    'application/json',
    'Application/JSON',
    'application/json;charset=utf-8',
    'application/json; charset="UTF-8"',
  ])('accepts %s', async (type) => {
    const response = await postLogin('{"username":"a@example.com","password":"x"}', { 'content-type': type })
    expect(response.statusCode).toBe(401)
  })

  it.each([
    ['text/plain', TYPE],
    ['application/json; charset=latin1', CHARSET],
    ['application/json; charset=utf-8; charset=utf-16', CHARSET],
    ['application/jsonp', TYPE],
    ['application/problem+json', TYPE],
    ['application/x-www-form-urlencoded', TYPE],
    ['multipart/form-data; boundary=x', TYPE],
    ['text/plain; application/json', TYPE],
    ['application/json, text/plain', TYPE],
    ['', TYPE],
  ])('answers 415 to %j', async (type, detail) => {
    const response = await postLogin('{"username":"a@example.com","password":"x"}', { 'content-type': type })
    expect(response.statusCode).toBe(415)
    expect(response.json()).toMatchObject({ type: 'urn:latchkey:problem:unsupported-media-type', detail })
  })

  it('answers 415 to a compressed body', async () => {
    const response = await postLogin('{}', { ...JSON_TYPE, 'content-encoding': 'gzip' })
    expect(response.json()).toMatchObject({
      status: 415,
      detail: 'The body must not be compressed: send no Content-Encoding',
    })
  })

  it.each([
    { why: 'cut JSON', body: '{"username":' },
    { why: 'a bare word', body: 'nope' },
    { why: 'bytes that are not UTF-8', body: Buffer.from([0x22, 0xff, 0xfe, 0x22]) },
    {
      why: 'a password that is not UTF-8',
      body: Buffer.from('{"username":"a@example.com","password":"caf\xe9"}', 'latin1'),
    },
    {
      why: 'a polluting property',
      body: '{"username":"a@example.com","password":"x","__proto__":{"role":"admin"}}',
    },
    {
      why: 'a polluting constructor',
      body: '{"username":"a","password":"x","constructor":{"prototype":{}}}',
    },
  ])('answers 400 to $why', async ({ body }) => {
    const response = await postLogin(body)
    expect(response.statusCode).toBe(400)
    expect(response.json().type).toMatch(/bad-request|invalid-input/)
  })

  it('accepts 16 KiB and answers 413 to one byte more', async () => {
    const body = (length: number) =>
      `{"username":"a@example.com","password":"x","other":"${'x'.repeat(length - 54)}"}`
    expect(body(16_384)).toHaveLength(16_384)
    expect((await postLogin(body(16_384))).statusCode).toBe(401)
    expect((await postLogin(body(16_385))).statusCode).toBe(413)
  })
})

describe('cross-origin requests', () => {
  it('are allowed only to the origins of CORS_ORIGINS', async () => {
    const ask = (origin: string) => app.server.inject({ url: '/health/live', headers: { origin } })
    expect((await ask('https://app.example.com')).headers['access-control-allow-origin']).toBe(
      'https://app.example.com',
    )
    expect(
      (await ask('https://app.example.com.evil.com')).headers['access-control-allow-origin'],
    ).toBeUndefined()
    expect((await ask('null')).headers['access-control-allow-origin']).toBeUndefined()
  })

  it.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE'])('may use %s, with a token and JSON', async (method) => {
    const { statusCode, headers } = await app.server.inject({
      method: 'OPTIONS',
      url: '/profile',
      headers: {
        origin: 'https://app.example.com',
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization,content-type',
      },
    })
    expect(statusCode).toBe(200)
    expect(headers['access-control-allow-origin']).toBe('https://app.example.com')
    expect(String(headers['access-control-allow-methods']).split(', ')).toContain(method)
    expect(headers['access-control-allow-headers']).toBe('authorization,content-type')
    expect(headers['access-control-max-age']).toBe('600')
  })

  it('may read the headers that describe a response', async () => {
    const { headers } = await app.server.inject({
      url: '/profile',
      headers: { origin: 'https://app.example.com' },
    })
    expect(headers['access-control-expose-headers']).toBe('Retry-After, WWW-Authenticate, X-Request-Id')
  })
})

describe('a broken HTTP request', () => {
  let address: URL
  beforeAll(async () => {
    address = new URL(await app.server.listen({ port: 0, host: '127.0.0.1' }))
  })
  const send = async (request: string) => {
    const socket = connect(Number(address.port), address.hostname, () => socket.write(request))
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
    const [statusLine, ...fields] = head.split('\r\n')
    return {
      statusLine,
      headers: new Headers(fields.map((field) => field.split(': ') as [string, string])),
      body,
    }
  }

  it.each([
    {
      why: 'another version',
      request: 'GET / HTTP/9.9\r\n\r\n',
      status: '400 Bad Request',
      type: 'bad-request',
      parser: 'HPE_INVALID_VERSION',
    },
    {
      why: 'a header of 20 kB',
      request: `GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${'x'.repeat(20_000)}\r\n\r\n`,
      status: '431 Request Header Fields Too Large',
      type: 'request-header-fields-too-large',
      parser: 'HPE_HEADER_OVERFLOW',
    },
  ])(
    'is refused like every other, and the service keeps running: $why',
    async ({ request, status, type, parser }) => {
      const { statusLine, headers, body } = await send(request)
      expect(statusLine).toBe(`HTTP/1.1 ${status}`)
      expect(headers.get('content-type')).toBe('application/problem+json')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
      expect(headers.get('content-length')).toBe(String(Buffer.byteLength(body)))
      expect(JSON.parse(body)).toMatchObject({
        type: `urn:latchkey:problem:${type}`,
        status: Number(status.slice(0, 3)),
        instance: headers.get('x-request-id'),
      })
      const lines = app.logLines.filter((line) => line.includes(headers.get('x-request-id') ?? ''))
      expect(lines).toHaveLength(1)
      expect(JSON.parse(lines.join())).toMatchObject({ errorCode: parser })
      expect(lines.join(), 'the request may contain a token').not.toContain('rawPacket')
      expect((await fetch(new URL('/health/live', address))).status).toBe(200)
    },
  )

  it.each([
    { why: 'no Host', request: 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n', status: 400 },
    {
      why: 'an unknown expectation',
      request: 'GET /nowhere HTTP/1.1\r\nHost: a\r\nExpect: rain\r\nConnection: close\r\n\r\n',
      status: 404,
    },
  ])('that Node would refuse with a bare status gets a problem: $why', async ({ request, status }) => {
    const { statusLine, headers, body } = await send(request)
    expect(statusLine).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(JSON.parse(body)).toMatchObject({ status, instance: headers.get('x-request-id') })
  })

  it('of HTTP/1.0 needs no Host', async () => {
    expect((await send('GET /health/live HTTP/1.0\r\n\r\n')).statusLine).toBe('HTTP/1.1 200 OK')
  })
})

describe('an internal failure', () => {
  it('reveals nothing of itself, and its line in the log has the id of the request', async () => {
    await using broken = await startApp()
    const user = await aUser(broken)
    const token = await aToken(broken, user)
    await broken.database.db.runScript('drop table users_property')
    const response = await broken.server.inject({ url: '/profile', headers: bearer(token) })
    expect(response.statusCode).toBe(500)
    expect(Object.keys(response.json()).sort()).toEqual(['instance', 'status', 'title', 'type'])
    const line = broken.logLines.find((each) => each.includes('users_property'))
    expect(JSON.parse(line ?? '{}').reqId).toBe(response.json().instance)
  })
})
