import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { describe, expect, it } from 'vitest'
import { openCounters } from './counters.ts'

describe('counters in memory', () => {
  it('remember a key among tens of thousands', async () => {
    await using app = Fastify()
    const createCounter = await openCounters(app, undefined)
    const counter = createCounter('failures', 60_000)
    const request = await aRequest(app)
    await counter.count(request, 'victim')
    for (let key = 0; key < 20_000; key++) await counter.count(request, `invented-${key}`)
    expect(await counter.read(request, 'victim')).toMatchObject({ current: 1 })
  })
})

async function aRequest(app: FastifyInstance): Promise<FastifyRequest> {
  const { promise, resolve } = Promise.withResolvers<FastifyRequest>()
  app.get('/', async (request) => resolve(request))
  await app.inject('/')
  return promise
}
