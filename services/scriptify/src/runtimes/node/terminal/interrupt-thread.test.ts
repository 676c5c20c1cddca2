import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const THREAD = join(import.meta.dirname, 'interrupt-thread.ts')

it('ends without a word when the terminal ends first', () => {
  const script = `new (require('node:worker_threads').Worker)(${JSON.stringify(THREAD)}, { workerData: new SharedArrayBuffer(4) })`
  // At its end from the start, as a pipe is whose writer is gone.
  const ended = openSync(devNull, 'r')
  const stdio = ['ignore', 'ignore', 'pipe', 'ignore', ended] as const
  const { status, stderr } = spawnSync(process.execPath, ['--eval', script], { stdio: [...stdio] })
  closeSync(ended)
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
})
