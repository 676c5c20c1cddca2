import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { describe, expect, it, vi } from 'vitest'
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

  it('give each of forty concurrent events its own number', async () => {
    await using app = Fastify()
    const counter = (await openCounters(app, undefined))('failures', 60_000)
    const request = await aRequest(app)
    const counted = await Promise.all(Array.from({ length: 40 }, () => counter.count(request, 'key')))
    expect(counted.map(({ current }) => current)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1))
  })

  it('begin again when the window ends', async () => {
    await using app = Fastify()
    const counter = (await openCounters(app, undefined))('failures', 60_000)
    const request = await aRequest(app)
    const now = vi.spyOn(Date, 'now').mockReturnValue(1_000_000)
    try {
      await counter.count(request, 'key')
      now.mockReturnValue(1_059_999)
      expect(await counter.count(request, 'key')).toEqual({ current: 2, retryAfterSeconds: 1 })
      now.mockReturnValue(1_060_000)
      expect(await counter.read(request, 'key')).toMatchObject({ current: 0 })
      expect(await counter.count(request, 'key')).toEqual({ current: 1, retryAfterSeconds: 60 })
    } finally {
      now.mockRestore()
    }
  })
})

async function aRequest(app: FastifyInstance): Promise<FastifyRequest> {
  const { promise, resolve } = Promise.withResolvers<FastifyRequest>()
  app.get('/', async (request) => resolve(request))
  await app.inject('/')
  return promise
}
