import type { ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import type { RouteShorthandOptions } from 'fastify'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createServer } from '../create-server.ts'
import { openapi } from './openapi.ts'

const Note = z.object({ text: z.string() }).meta({ id: 'Note', examples: [{ text: 'Buy milk' }] })

async function describe(add: (app: ReturnType<typeof createServer>) => void) {
  const app = createServer({ trustedProxies: [], logger: createLogger('auth-api', 'silent') })
  await app.register(openapi, { hasPage: false, algorithm: 'HS512', publicUrl: 'https://auth.example.com' })
  add(app)
  return (await app.inject({ url: '/openapi.json' })).json()
}

/** The statuses that a route is described with, and the headers of one of them. */
async function statusesOf(method: 'GET' | 'POST', options: RouteShorthandOptions): Promise<string[]> {
  const { paths } = await describe((app) =>
    app.route({ ...options, method, url: '/notes', handler: () => ({}) }),
  )
  return Object.keys(paths['/notes'][method.toLowerCase()].responses)
}

const ALWAYS = ['200', '400', '415', '500', 'default']
const UNLESS_PROBE = ['429', '503']

it.each<{ has: string; method: 'GET' | 'POST'; options: RouteShorthandOptions; statuses: string[] }>([
  { has: 'nothing', method: 'GET', options: {}, statuses: UNLESS_PROBE },
  { has: 'a probe', method: 'GET', options: { config: { isProbe: true } }, statuses: [] },
  { has: 'a method with a body', method: 'POST', options: {}, statuses: ['413', ...UNLESS_PROBE] },
  { has: 'a guard', method: 'GET', options: { auth: 'authenticated' }, statuses: ['401', ...UNLESS_PROBE] },
  {
    has: 'a role',
    method: 'GET',
    options: { auth: { role: 'admin' } },
    statuses: ['401', '403', ...UNLESS_PROBE],
  },
  {
    has: 'its own errors',
    method: 'GET',
    options: { problems: ['email_taken', 'reset_refused'] satisfies ErrorCode[] },
    statuses: ['409', '422', ...UNLESS_PROBE],
  },
  {
    has: 'a response',
    method: 'GET',
    options: { schema: { response: { 200: Note, 201: Note } } },
    statuses: ['201', ...UNLESS_PROBE],
  },
])('derives the statuses of a route from what it has: $has', async ({ method, options, statuses }) => {
  expect((await statusesOf(method, options)).toSorted()).toEqual([...ALWAYS, ...statuses].toSorted())
})

it('names the problem types of a status, and the headers that go with it', async () => {
  const { paths, components } = await describe((app) =>
    app.post('/notes', { auth: 'authenticated', problems: ['token_not_refreshable'] }, () => ({})),
  )
  const { 401: unauthorized, 429: limited } = paths['/notes'].post.responses
  expect(unauthorized.headers).toHaveProperty('WWW-Authenticate')
  expect(Object.keys(unauthorized.content['application/problem+json'].examples).toSorted()).toEqual([
    'invalid-token',
    'token-not-refreshable',
  ])
  expect(limited).toEqual({ $ref: '#/components/responses/RateLimited' })
  expect(components.responses.RateLimited.headers).toHaveProperty('Retry-After')
  expect(components.responses.Refused.headers).toHaveProperty('Allow')
})

it('describes a response without a body, and one without a name', async () => {
  const { paths } = await describe((app) => {
    app.delete('/notes', { schema: { response: { 204: z.null() } } }, () => null)
    app.get('/notes', { schema: { response: { 200: z.object({ notes: z.array(Note) }) } } }, () => ({}))
  })
  expect(paths['/notes'].delete.responses[204]).toMatchObject({ description: 'No Content' })
  expect(paths['/notes'].delete.responses[204]).not.toHaveProperty('content')
  const { schema } = paths['/notes'].get.responses[200].content['application/json']
  expect(schema.properties.notes.items).toEqual({ $ref: '#/components/schemas/Note' })
})

it('describes a body that a client may omit', async () => {
  const { paths } = await describe((app) => {
    app.post('/notes', { schema: { body: Note } }, () => ({}))
    app.put('/notes', { schema: { body: Note.optional() } }, () => ({}))
  })
  const { post, put } = paths['/notes']
  expect([post.requestBody.required, put.requestBody.required]).toEqual([true, false])
  expect(put.requestBody.content).toEqual(post.requestBody.content)
  expect(post.requestBody.content['application/json'].example).toEqual({ text: 'Buy milk' })
})

it('describes the parameters of a path and of a query', async () => {
  const params = z.object({ id: z.guid().describe('Of the note.') })
  const querystring = z.object({ full: z.stringbool().optional() })
  const { paths } = await describe((app) =>
    app.get('/notes/:id', { schema: { params, querystring } }, () => ({})),
  )
  const { parameters, responses } = paths['/notes/{id}'].get
  expect(parameters).toEqual([
    expect.objectContaining({ in: 'query', name: 'full' }),
    expect.objectContaining({ in: 'path', name: 'id', required: true, description: 'Of the note.' }),
  ])
  expect(Object.keys(responses[400].content['application/problem+json'].examples)).toContain('invalid-input')
})

it('refuses two schemas of one name', async () => {
  const other = z.object({ title: z.string() })
  const { message } = await describe((app) => {
    app.get('/notes', { schema: { response: { 200: Note } } }, () => ({}))
    app.get('/others', { schema: { response: { 200: other.meta({ id: 'Note' }) } } }, () => ({}))
  })
  expect(message).toBe('Two different schemas are called Note')
})

it('gives a tag of a further feature a place before the samples', async () => {
  const { tags } = await describe((app) => {
    for (const tag of ['health', 'notes', 'login', 'sample'])
      app.get(`/${tag}`, { schema: { tags: [tag] } }, () => ({}))
  })
  expect(tags.map(({ name }: { name: string }) => name)).toEqual(['login', 'notes', 'sample', 'health'])
})
