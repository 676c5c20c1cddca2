import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

/** How much of 40 MB of garbage is left once V8 has had the time to collect it, in MB. */
const SCRIPT = `
  import { setTimeout as wait } from 'node:timers/promises'
  import { collectWhenIdle } from ${JSON.stringify(join(import.meta.dirname, 'collect-when-idle.ts'))}
  const usedMb = () => process.memoryUsage().heapUsed / 1e6
  collectWhenIdle()
  const before = usedMb()
  let burst = Array.from({ length: 400_000 }, (_, index) => ({ index, text: [index] }))
  gc()
  burst = undefined
  const deadline = Date.now() + 60_000
  while (usedMb() - before > 10 && Date.now() < deadline) await wait(100)
  console.log(usedMb() - before)`

it('lets V8 collect what a burst has left, without a further request', () => {
  // The delay is 8 s by default.
  const options = ['--expose-gc', '--gc-memory-reducer-start-delay-ms=4000', '--input-type=module']
  const output = execFileSync(process.execPath, [...options, '-e', SCRIPT], { encoding: 'utf8' })
  expect(Number(output)).toBeLessThan(10)
})
