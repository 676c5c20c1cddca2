import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { createFuzz, fuzzOptions, startFuzzedApp } from './fuzz-app.ts'

/** What a run may leave behind: its caches and counters, which are bounded by their number of entries. */
const MAX_LEFT_BYTES = 60 * 1024 * 1024

const options = fuzzOptions(100_000)

it(`answers any request as its document says, and keeps no memory: FUZZ_SEED=${options.seed}`, async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage: () => void = runInNewContext('gc')
  const usedBytes = () => {
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  }
  await using app = await startFuzzedApp()
  const fuzz = await createFuzz(app)
  await fuzz({ seed: options.seed - options.requests, requests: 2_000 })
  const before = usedBytes()
  const { statuses } = await fuzz(options)
  const leftBytes = () => usedBytes() - before
  // What the last requests leave is freed a moment after their answers.
  await expect.poll(leftBytes, { interval: 500, timeout: 10_000 }).toBeLessThan(MAX_LEFT_BYTES)
  console.log(`${options.requests} requests left ${(leftBytes() / 1024 / 1024).toFixed(1)} MB:`, statuses)
})
