import type { Database, Transaction } from '@latchkey/shared/database/database.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { limitDatabaseTime, limitingTime } from './limit-database-time.ts'
import { problemDetails } from './problem-details.ts'

const STATEMENT = { name: 'test', text: 'select 1' }

/** Each statement of the request takes its time, in milliseconds; a transaction counts its attempts and commits. */
let times: number[]
let attempts: number
let commits: number
let statements: number
let server: FastifyInstance

beforeEach(async () => {
  vi.useFakeTimers()
  times = []
  attempts = commits = statements = 0
  const run = () => {
    statements++
    return new Promise<object[]>((resolve) => setTimeout(resolve, times.shift() ?? 0, []))
  }
  const transaction = { query: run, execute: () => run().then(() => 1) } as unknown as Transaction
  const db = limitingTime({
    query: run,
    async transaction(work: (transaction: Transaction) => Promise<unknown>) {
      attempts++
      const result = await work(transaction)
      commits++
      return result
    },
  } as unknown as Database)
  server = Fastify()
  await server.register(problemDetails)
  await server.register(limitDatabaseTime)
  server.post('/statements', async () => {
    for (let left = times.length; left > 0; left--) await db.query(STATEMENT)
    return 'done'
  })
  server.post('/transaction', () =>
    db.transaction(async (tx) => {
      for (let left = times.length; left > 0; left--) await tx.query(STATEMENT)
      return 'done'
    }),
  )
  server.post('/waiting', async () => {
    for (let left = times.length; left > 0; left--) {
      await db.query(STATEMENT)
      await new Promise((resolve) => setTimeout(resolve, 20_000))
    }
    return 'done'
  })
  return async () => {
    vi.useRealTimers()
    await server.close()
  }
})

/** Sends a request whose body is read, and lets the time pass in which it is answered. */
async function post(url: string): Promise<{ status: number; detail?: string; retryAfter?: unknown }> {
  const answering = server.inject({ method: 'POST', url, payload: { some: 'body' } })
  await vi.advanceTimersByTimeAsync(100_000)
  const answer = await answering
  return answer.statusCode === 200
    ? { status: 200 }
    : { status: answer.statusCode, detail: answer.json().detail, retryAfter: answer.headers['retry-after'] }
}

const TOO_LATE = {
  status: 503,
  detail: 'The database does not answer in time; try again',
  retryAfter: '2',
}

describe('the time of a request on the database', () => {
  it.each([
    { what: 'statements within it', url: '/statements', of: [4_000, 4_000], expected: { status: 200 } },
    { what: 'one long statement', url: '/statements', of: [11_000], expected: TOO_LATE },
    {
      what: 'several statements together',
      url: '/statements',
      of: [4_000, 4_000, 4_000],
      expected: TOO_LATE,
    },
    { what: 'a transaction within it', url: '/transaction', of: [4_000, 4_000], expected: { status: 200 } },
    {
      what: 'the statements of a transaction',
      url: '/transaction',
      of: [4_000, 4_000, 4_000],
      expected: TOO_LATE,
    },
    { what: 'what a request does beside', url: '/waiting', of: [1_000, 1_000], expected: { status: 200 } },
  ])('$what', async ({ url, of, expected }) => {
    times = [...of]
    expect(await post(url)).toEqual(expected)
    times = [...of]
    expect(await post(url), 'each request has its own').toEqual(expected)
  })

  it('ends a transaction without a further statement and without a commit', async () => {
    times = [6_000, 6_000, 1_000]
    expect(await post('/transaction')).toEqual(TOO_LATE)
    expect({ attempts, statements, commits }).toEqual({ attempts: 1, statements: 2, commits: 0 })
    times = [11_000]
    expect(await post('/transaction'), 'after its last statement').toEqual(TOO_LATE)
    expect(commits).toBe(0)
  })
})
