import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import { createAccountModel } from './account-model.ts'
import type { Replicas } from './replicas.ts'
import type { Run } from './step-context.ts'
import { beginSequence, sequences } from './steps.ts'

export interface ModelOptions {
  seed: number
  /** Sequences of steps. */
  runs: number
  /** Steps of a sequence. */
  steps: number
}

/** Reads options from the environment: the same seed gives the same sequences. */
export const modelOptions = (runs: number, steps: number): ModelOptions => ({
  seed: Number(process.env.TEST_SEED),
  runs: Number(process.env.MODEL_RUNS ?? runs),
  steps: Number(process.env.MODEL_STEPS ?? steps),
})

/** The shortest window of a limit, with a reserve. */
const SEQUENCE_MS = 45_000
/** Shrinking a failure takes a sequence each time. */
const MAX_SHRINKS = 150
/** The time at which each sequence begins: the moment of a second matters, the date does not. */
const START = Date.UTC(2030, 0, 1, 0, 0, 0, 400)

/** Runs sequences of steps against both replicas; throws with the seed and the shortest sequence that disagrees. */
export async function runModel(replicas: Replicas, { seed, runs, steps }: ModelOptions): Promise<void> {
  // Each sequence has its own addresses. Those of the run before may still be limited in Redis.
  let number = randomInt(50_000)
  const property = fc.asyncProperty(fc.limitShrink(sequences(steps), MAX_SHRINKS), async (commands) => {
    // Later than in the sequences before: what the replicas remember of their users has no meaning here.
    Object.assign(replicas.time, { now: START, elapsed: replicas.time.elapsed + 1_000_000 })
    const model = createAccountModel(replicas.time, replicas)
    const real: Run = { replicas, number: number++, endsAt: performance.now() + SEQUENCE_MS, passwords: 0 }
    await fc.asyncModelRun(async () => {
      await beginSequence(model, real)
      return { model, real }
    }, commands)
  })
  await fc.assert(property, { seed, numRuns: runs, endOnFailure: false })
}
