import { aUser } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { aToken, bearer, startApp, type TestApp } from './support/start-app.ts'

const MediaType = z.object({ schema: z.record(z.string(), z.unknown()), example: z.unknown() })
const Operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  security: z.array(z.unknown()),
  requestBody: z.object({ content: z.record(z.string(), MediaType) }).optional(),
  responses: z.record(z.string(), z.looseObject({ content: z.record(z.string(), z.unknown()).optional() })),
})
const Document = z.object({
  openapi: z.literal('3.1.0'),
  tags: z.array(z.object({ name: z.string(), description: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.record(z.string(), z.record(z.string(), z.unknown())),
})

/** The security of an operation that a refresh token can call in place of an access token. */
const EITHER = [{ bearer: [] }, {}]

/** Pages and files, which no generated client calls. */
const NOT_OPERATIONS = /^\/(openapi\.json|(docs|account)(\/.*)?)?$/

let app: TestApp
let document: z.output<typeof Document>

beforeAll(async () => {
  app = await startApp()
  document = await readDocument(app)
})
afterAll(() => app[Symbol.asyncDispose]())

const readDocument = async ({ server }: TestApp) =>
  Document.parse((await server.inject({ url: '/openapi.json' })).json())

const operationsOf = ({ paths }: z.output<typeof Document>) =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ ...operation, path, method })),
  )

describe('the OpenAPI document', () => {
  it('describes every route of the service', () => {
    const described = operationsOf(document).map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    const routes = routesOf(app.server.printRoutes({ commonPrefix: false })).map((route) =>
      route.replace(/:(\w+)/g, '{$1}'),
    )
    expect(routes).toContain('PUT /profile')
    expect(routes.toSorted()).toEqual(described.toSorted())
  })

  it('names each operation once, in the words of the product', () => {
    const names = operationsOf(document).map(({ operationId }) => operationId)
    expect(names).toEqual([...new Set(names)])
    expect(names).toEqual(
      expect.arrayContaining([
        'login',
        'refreshToken',
        'requestPasswordReset',
        'confirmPasswordResetCode',
        'resetPassword',
        'getProfile',
        'updateProfile',
      ]),
    )
  })

  it('marks passwords as such', () => {
    expect(document.components.schemas).toMatchObject({
      Credentials: { properties: { password: { format: 'password' } } },
      NewPassword: { properties: { password: { format: 'password' } } },
    })
  })

  it('has an example of every body', () => {
    for (const { operationId, requestBody, responses } of operationsOf(document)) {
      const [success = {}] = Object.entries(responses).flatMap(([status, { content }]) =>
        status.startsWith('2') ? [content] : [],
      )
      for (const media of [requestBody?.content ?? {}, success].flatMap(Object.values))
        expect(media, operationId).toHaveProperty('example')
    }
  })

  it('has examples that the service accepts', async () => {
    for (const { method, path, requestBody, security } of operationsOf(document)) {
      const [media] = Object.values(requestBody?.content ?? {})
      if (!media) continue
      const url = path
      const needsToken = security.length === 1
      const headers = needsToken ? bearer(await aToken(app, await aUser(app))) : {}
      const payload = media.example as object
      const { statusCode, body } = await app.server.inject({
        method: method as 'post',
        url,
        headers,
        payload,
      })
      expect([200, 201, 204, 401, 422], `${method} ${path}: ${body}`).toContain(statusCode)
    }
  })

  it('says of each operation whether it requires a token', async () => {
    for (const { method, path: url, operationId, security } of operationsOf(document)) {
      const { statusCode } = await app.server.inject({ method: method as 'post', url })
      expect(security, operationId).toEqual(
        statusCode !== 401 ? [] : /refresh|logout/.test(operationId) ? EITHER : [{ bearer: [] }],
      )
    }
  })

  it('orders the tags as a user meets them', () => {
    const names = document.tags.map(({ name }) => name)
    expect(names.slice(0, 3)).toEqual(['login', 'token', 'sessions'])
    expect(names.at(-1)).toBe('health')
    const used = operationsOf(document).flatMap(({ tags }) => tags)
    expect(names.toSorted()).toEqual([...new Set(used)].toSorted())
  })

  it('has one schema per name, and every schema that it refers to', () => {
    const { schemas = {} } = document.components
    expect(Object.keys(schemas).filter((name) => name.endsWith('Input'))).toEqual([])
    const references = new Set(JSON.stringify(document).match(/(?<=#\/components\/schemas\/)\w+/g))
    expect([...references].toSorted()).toEqual(Object.keys(schemas).toSorted())
  })

  it('keeps every path, whatever the path of API_SERVER', async () => {
    const issuer = 'https://sso.example.com/login'
    await using other = await startApp({ database: app.database, settings: { API_SERVER: issuer } })
    const paths = operationsOf(await readDocument(other)).map(({ path }) => path)
    expect(paths).toEqual(operationsOf(document).map(({ path }) => path))
    const { servers } = (await other.server.inject({ url: '/openapi.json' })).json()
    expect(servers).toEqual([{ url: issuer }])
  })

  it.each(['auth.example.com', 'urn:example:login', 'localhost:8080'])(
    'names no server where the issuer is not a URL: %s',
    async (issuer) => {
      await using other = await startApp({ database: app.database, settings: { API_SERVER: issuer } })
      for (const url of ['/openapi.json', '/docs/', '/docs/json', '/health/ready']) {
        expect((await other.server.inject({ url })).statusCode, url).toBe(200)
      }
      expect((await other.server.inject({ url: '/openapi.json' })).json()).not.toHaveProperty('servers')
    },
  )
})

/** The operations in Fastify's tree of routes. */
function routesOf(tree: string): string[] {
  const parents: string[] = []
  return tree.split('\n').flatMap((line) => {
    const [, indent = '', segment = '', methods = ''] = /^([│ ]*)[├└]── (\S+)(?: \((.+)\))?$/.exec(line) ?? []
    parents.splice(indent.length / 4, Infinity, segment)
    const path = parents.join('')
    if (NOT_OPERATIONS.test(path)) return []
    return methods
      .split(', ')
      .filter((method) => !['', 'HEAD', 'OPTIONS'].includes(method))
      .map((method) => `${method} ${path}`)
  })
}
