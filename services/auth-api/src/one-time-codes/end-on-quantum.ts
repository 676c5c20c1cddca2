import { setTimeout as wait } from 'node:timers/promises'
import { AppError, type ErrorCode } from '@latchkey/shared/app-error.ts'

/**
 * Responses leave at the next multiple of this time, which a request normally stays well below. Finding a row takes
 * slightly longer than finding none, and enough requests would show it.
 */
const RESPONSE_QUANTUM_MS = 25

/** Settles at the next multiple of the quantum after its start. */
export async function endOnQuantum<Result>(work: () => Promise<Result>): Promise<Result> {
  const start = performance.now()
  try {
    return await work()
  } finally {
    await untilQuantum(start)
  }
}

/** Fails with `code` at the next multiple of the quantum after its start; settles at once otherwise. */
export async function refuseOnQuantum<Result>(code: ErrorCode, work: () => Promise<Result>): Promise<Result> {
  const start = performance.now()
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError && error.code === code) await untilQuantum(start)
    throw error
  }
}

const untilQuantum = (start: number): Promise<void> =>
  wait(RESPONSE_QUANTUM_MS - ((performance.now() - start) % RESPONSE_QUANTUM_MS))
