import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

/** Runs `script` in a process that collects when it is idle, once it has collected what its start has left. */
async function measure(script: string, options: readonly string[] = []): Promise<number[]> {
  const module = `
    import { setTimeout as wait } from 'node:timers/promises'
    import { collectWhenIdle } from ${JSON.stringify(join(import.meta.dirname, 'collect-when-idle.ts'))}
    const usedMb = () => process.memoryUsage().heapUsed / 1e6
    const residentMb = () => process.memoryUsage.rss() / 1e6
    const make = (count) => Array.from({ length: count }, (_, index) => ({ index, text: [index] }))
    collectWhenIdle()
    await wait(3_000)
    const start = { usedMb: usedMb(), residentMb: residentMb() }
    ${script}`
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...options,
    '--input-type=module',
    '-e',
    module,
  ])
  return JSON.parse(stdout)
}

describe.concurrent('an idle process', () => {
  it('collects slowly what little a burst has left', async () => {
    const script = `
      let burst = make(100_000)
      gc()
      burst = undefined
      const deadline = Date.now() + 60_000
      while (usedMb() - start.usedMb > 5 && Date.now() < deadline) await wait(100)
      console.log(JSON.stringify([usedMb() - start.usedMb, residentMb() - start.residentMb]))`
    // The delay is 8 s by default.
    const [usedMb] = await measure(script, ['--expose-gc', '--gc-memory-reducer-start-delay-ms=4000'])
    expect(usedMb).toBeLessThan(5)
  })

  it('returns the memory of a large burst within five seconds', async () => {
    const script = `
      let burst = make(2_000_000)
      const during = residentMb()
      burst = undefined
      await wait(5_000)
      console.log(JSON.stringify([during - start.residentMb, residentMb() - start.residentMb]))`
    const [duringMb, afterMb] = await measure(script)
    expect(duringMb).toBeGreaterThan(200)
    expect(afterMb).toBeLessThan(80)
  })
})
