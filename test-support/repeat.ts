import { setTimeout as wait } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** Begins `work` every `pauseMs` until `stop`, which resolves with all results; 0 for what failed. */
export function repeat(pauseMs: number, work: (index: number) => Promise<number>) {
  const results: Promise<number>[] = []
  let isEnding = false
  async function run(): Promise<void> {
    for (let index = 1; !isEnding; index++) {
      results.push(work(index).catch(() => 0))
      await wait(pauseMs)
    }
  }
  const running = run()
  const stop = async () => {
    isEnding = true
    await running
    return Promise.all(results)
  }
  onTestFinished(async () => void (await stop()))
  return { stop }
}
