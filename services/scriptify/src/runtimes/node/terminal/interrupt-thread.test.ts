import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { devNull } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'

const THREAD = join(import.meta.dirname, 'interrupt-thread.ts')

it('ends without a word when the terminal ends first', () => {
  const script = `
    const state = () => new Int32Array(new SharedArrayBuffer(4))
    const workerData = { answered: state(), refused: state() }
    new (require('node:worker_threads').Worker)(${JSON.stringify(THREAD)}, { workerData })`
  // At its end from the start, as a pipe is whose writer is gone.
  const ended = openSync(devNull, 'r')
  const stdio = ['ignore', 'ignore', 'pipe', 'ignore', ended] as const
  const { status, stderr } = spawnSync(process.execPath, ['--eval', script], { stdio: [...stdio] })
  closeSync(ended)
  expect({ status, stderr: String(stderr) }).toEqual({ status: 0, stderr: '' })
})

it('terminates nothing that runs after the code that Ctrl-C was for', async () => {
  const script = `(async () => {
    const { createEvaluator } = await import(${JSON.stringify(join(import.meta.dirname, 'evaluator.ts'))})
    await createEvaluator().evaluate('1', 1)
    process.stdout.write('answers, ')
    const end = Date.now() + 300
    while (Date.now() < end);
    process.stdout.write('survived')
  })()`
  const child = spawn(process.execPath, ['--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit', 'ignore', 'pipe'],
    timeout: 20_000,
  })
  const interruptPipe = child.stdio[4]
  if (!(interruptPipe instanceof Writable) || child.stdout === null) throw new Error('A pipe is missing')
  interruptPipe.on('error', () => {})
  const output = text(child.stdout)
  child.stdout.once('data', () => interruptPipe.end('c'))
  await once(child, 'exit')
  expect(await output).toBe('answers, survived')
})
