import { setTimeout as wait } from 'node:timers/promises'

const ATTEMPTS = 5

/** Runs `work` again when the server chose it as a deadlock's victim: it was rolled back whole. */
export async function retryDeadlocks<Result>(
  work: () => Promise<Result>,
  isDeadlock: (error: unknown) => boolean,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !isDeadlock(error)) throw error
      await wait(Math.random() * 20 * attempt)
    }
  }
}
