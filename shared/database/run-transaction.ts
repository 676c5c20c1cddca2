import type { Transaction } from './database.ts'
import { retryDeadlocks } from './retry-deadlocks.ts'

/**
 * Runs `attempt` until it commits or fails with something other than a deadlock; then runs what the committed attempt
 * has registered. What a rolled-back attempt has registered is dropped with it.
 */
export async function runTransaction<Result>(
  attempt: (afterCommit: Transaction['afterCommit']) => Promise<Result>,
  isDeadlock: (error: unknown) => boolean,
): Promise<Result> {
  const { result, registered } = await retryDeadlocks(async () => {
    const registered: (() => void)[] = []
    const result = await attempt((work) => void registered.push(work))
    return { result, registered }
  }, isDeadlock)
  for (const work of registered) work()
  return result
}
