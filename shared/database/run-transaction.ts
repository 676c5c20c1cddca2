import { setTimeout as wait } from 'node:timers/promises'
import type { DriverErrors, Transaction } from './database.ts'
import type { Driver } from './queryable.ts'
import { isConflict, toFinalError, translating } from './to-app-error.ts'

/** The pauses between attempts last 4 s together. Then forty changes of one account at once succeed under serializable isolation. */
const MAX_ATTEMPTS = 15
const FIRST_BACKOFF_MS = 10
const LONGEST_BACKOFF_MS = 400

/**
 * Runs `attempt` until it commits or fails with something other than a deadlock or a failed serialization, which roll
 * the whole transaction back; then runs what the committed attempt has registered. What a rolled-back attempt has
 * registered is dropped with it.
 */
export async function runTransaction<Result>(
  attempt: (afterCommit: Transaction['afterCommit']) => Promise<Result>,
  errors: DriverErrors,
): Promise<Result> {
  const repeated = () =>
    repeatOnConflict(async () => {
      const registered: (() => void)[] = []
      const result = await attempt((work) => void registered.push(work))
      return { result, registered }
    }, errors)
  const { result, registered } = await translating(repeated, (error) => toFinalError(error, errors))
  for (const work of registered) work()
  return result
}

/** Repeats each statement that fails because of another transaction: outside of one, it is a transaction by itself. */
export const repeatingStatements = ({ query, execute }: Driver, errors: DriverErrors): Driver => ({
  query: (statement, values) => repeatOnConflict(() => query(statement, values), errors),
  execute: (statement, values) => repeatOnConflict(() => execute(statement, values), errors),
})

async function repeatOnConflict<Result>(work: () => Promise<Result>, errors: DriverErrors): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isConflict(error, errors)) throw error
      // The whole pause is random: transactions that failed together would fail together again.
      await wait(Math.random() * Math.min(FIRST_BACKOFF_MS * 2 ** attempt, LONGEST_BACKOFF_MS))
    }
  }
}

/**
 * Creates the state of a transaction: open until its first statement that fails, or its end. A later statement would run
 * outside of the transaction, or in that of another request.
 */
export function createTransactionState() {
  let ended: { reason: unknown } | undefined
  return {
    /** Keeps the first reason, and returns it. */
    end(reason: unknown): unknown {
      ended ??= { reason }
      return ended.reason
    },
    /** Throws the reason once the transaction has ended. */
    requireOpen(): void {
      if (ended) throw ended.reason
    },
  }
}

export const transactionEnd = (): Error => new Error('The transaction has ended')
