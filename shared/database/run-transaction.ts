import { setTimeout as wait } from 'node:timers/promises'
import type { DriverErrors, Transaction } from './database.ts'
import { isConflict, toFinalError, translating } from './to-app-error.ts'

const MAX_ATTEMPTS = 5
const BACKOFF_MS = 20

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

async function repeatOnConflict<Result>(work: () => Promise<Result>, errors: DriverErrors): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || !isConflict(error, errors)) throw error
      await wait(Math.random() * BACKOFF_MS * attempt)
    }
  }
}

/**
 * Why a transaction takes no further statement: the first one that failed, or its end. A later statement would run outside
 * of the transaction, or in that of another request.
 */
export function createRefusal() {
  let reason: { error: unknown } | undefined
  return {
    /** Keeps the first reason, and returns it. */
    refuse(error: unknown): unknown {
      reason ??= { error }
      return reason.error
    },
    /** Throws once there is a reason. */
    check(): void {
      if (reason) throw reason.error
    },
  }
}

export const transactionEnd = (): Error => new Error('The transaction has ended')
