import Fastify from 'fastify'
import { expect, it } from 'vitest'
import { queueBoard } from './queue-board.ts'

const TOKEN = 'a-token-of-enough-characters'
const unavailable = { bull: () => Promise.reject(new Error('connect ECONNREFUSED')) }
const basic = (password: string) => `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`

function aBoard(token?: string) {
  const server = Fastify()
  server.register(queueBoard, { queue: unavailable, token })
  const get = async (url: string, authorization?: string, given: Record<string, string> = {}) => {
    const { statusCode, headers, body } = await server.inject({
      url,
      headers: { ...given, ...(authorization === undefined ? {} : { authorization }) },
    })
    return { statusCode, headers, body }
  }
  return { get, [Symbol.asyncDispose]: () => server.close() }
}

it('asks for the token, on each page and file', async () => {
  await using board = aBoard(TOKEN)
  for (const url of [
    '/queue',
    '/queue/',
    '/queue/queue/mail',
    '/queue/api/queues',
    '/queue/static/favicon.ico',
  ]) {
    for (const given of [
      undefined,
      '',
      TOKEN,
      `Bearer ${TOKEN}`,
      basic(''),
      basic(`${TOKEN}x`),
      basic(TOKEN.slice(1)),
    ]) {
      const { statusCode, headers, body } = await board.get(url, given)
      expect({ url, given, statusCode }).toMatchObject({ statusCode: 401 })
      expect(headers['www-authenticate']).toBe('Basic realm="Latchkey", charset="UTF-8"')
      expect(body).not.toContain(TOKEN)
    }
  }
  const page = await board.get('/queue', basic(TOKEN))
  expect(page).toMatchObject({ statusCode: 200, headers: { 'cache-control': 'no-store' } })
  expect(page.headers['content-security-policy']).toContain("default-src 'self'")
})

it('asks for nothing where it has no token, and answers no other origin and no other host name', async () => {
  await using board = aBoard()
  expect((await board.get('/queue')).statusCode).toBe(200)
  for (const foreign of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) {
    for (const url of ['/queue', '/queue/api/queues', '/queue/static/favicon.ico'])
      expect(await board.get(url, undefined, foreign)).toMatchObject({ statusCode: 403 })
  }
})

it('says that the queue is unavailable, without a stack', async () => {
  await using board = aBoard()
  const { statusCode, headers, body } = await board.get('/queue/api/queues')
  expect(statusCode).toBe(503)
  expect(headers['content-type']).toMatch(/^application\/problem\+json/)
  expect(JSON.parse(body)).toEqual({
    type: 'urn:latchkey:problem:unavailable',
    title: 'Temporarily unavailable',
    status: 503,
    detail: 'The mail queue is unavailable',
    // The page of Bull Board shows this member.
    error: 'The mail queue is unavailable',
  })
})
