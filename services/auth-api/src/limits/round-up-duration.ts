import { setTimeout as wait } from 'node:timers/promises'
import { AppError, type ErrorCode } from '@latchkey/shared/errors/app-error.ts'

/**
 * Responses leave at the next multiple of this time, which a request normally stays well below. Finding a row takes
 * slightly longer than finding none, and enough requests would show it.
 */
const STEP_MS = 25

/** Settles when its duration is a multiple of 25 ms, with the result or the error of `work`. */
export async function roundUpDuration<Result>(work: () => Promise<Result>): Promise<Result> {
  const start = performance.now()
  try {
    return await work()
  } finally {
    await untilNextStep(start)
  }
}

/** Rounds up the duration of a refusal with `code`. Everything else settles at once. */
export async function roundUpRefusal<Result>(code: ErrorCode, work: () => Promise<Result>): Promise<Result> {
  const start = performance.now()
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError && error.code === code) await untilNextStep(start)
    throw error
  }
}

const untilNextStep = (start: number): Promise<void> =>
  wait(STEP_MS - ((performance.now() - start) % STEP_MS))
