import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const THREAD = join(import.meta.dirname, 'interrupt-thread.ts')

it('ends without a word when the terminal ends first', () => {
  const script = `new (require('node:worker_threads').Worker)(${JSON.stringify(THREAD)}, { workerData: new SharedArrayBuffer(4) })`
  // At its end from the start, as a pipe is whose writer is gone.
  const { status, stderr } = spawnSync(process.execPath, ['--eval', script], {
    stdio: ['ignore', 'ignore', 'pipe', 'ignore', 'ignore'],
  })
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
})
