import { AsyncLocalStorage } from 'node:async_hooks'
import type { Database } from '@latchkey/shared/database/database.ts'
import { unavailable } from '@latchkey/shared/database/to-app-error.ts'
import { within } from '@latchkey/shared/time/clock.ts'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

/** Time that one request may spend on the database: waiting for a connection, statements, and repeated transactions. */
const LIMIT_MS = 10_000

interface Budget {
  leftMs: number
}

const budgets = new AsyncLocalStorage<Budget>()

/** Gives each request its time on the database. */
export const limitDatabaseTime = fp(
  async (app) => {
    const ofRequests = new WeakMap<FastifyRequest, Budget>()
    // The second hook, because the context of the first one is lost where a body is read.
    for (const hook of ['onRequest', 'preValidation'] as const)
      app.addHook(hook, (request: FastifyRequest, _reply: unknown, done: () => void) => {
        const budget = ofRequests.get(request) ?? { leftMs: LIMIT_MS }
        ofRequests.set(request, budget)
        budgets.run(budget, done)
      })
  },
  { name: 'limit-database-time' },
)

/**
 * Refuses what a request does on `db` once its time is over. A statement that then runs ends on the server by itself; its
 * transaction is rolled back. What is not part of a request has no such limit.
 */
export const limitingTime = (db: Database): Database => ({
  ...db,
  query: (statement, values) => spend(() => db.query(statement, values)),
  execute: (statement, values) => spend(() => db.execute(statement, values)),
  transaction: (work) =>
    spend((requireTime) =>
      db.transaction(async (transaction) => {
        requireTime()
        const result = await work({
          ...transaction,
          query: async (statement, values) => {
            requireTime()
            return transaction.query(statement, values)
          },
          execute: async (statement, values) => {
            requireTime()
            return transaction.execute(statement, values)
          },
        })
        requireTime()
        return result
      }),
    ),
})

async function spend<Result>(work: (requireTime: () => void) => Promise<Result>): Promise<Result> {
  const budget = budgets.getStore()
  if (!budget) return work(() => undefined)
  let isOver = budget.leftMs <= 0
  const requireTime = () => {
    if (isOver) throw tooLate()
  }
  const startedAt = performance.now()
  try {
    requireTime()
    return await within(budget.leftMs, work(requireTime), () => {
      isOver = true
      return tooLate()
    })
  } finally {
    budget.leftMs -= performance.now() - startedAt
  }
}

const tooLate = (): Error => unavailable('slow', new Error(`no answer within ${LIMIT_MS / 1_000} s`))
