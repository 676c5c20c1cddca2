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

/** Runs `steps`, which write `begun` first, in the process of a worker; gives what they write. */
async function outputOf(steps: string, onBegun: (interruptPipe: Writable) => void): Promise<string> {
  const evaluator = JSON.stringify(join(import.meta.dirname, 'evaluator.ts'))
  const script = `import(${evaluator}).then(async ({ createEvaluator }) => { ${steps} })`
  const child = spawn(process.execPath, ['--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit', 'ignore', 'pipe'],
    timeout: 20_000,
  })
  const interruptPipe = child.stdio[4]
  if (!(interruptPipe instanceof Writable) || child.stdout === null) throw new Error('A pipe is missing')
  interruptPipe.on('error', () => {})
  const output = text(child.stdout)
  child.stdout.once('data', () => onBegun(interruptPipe))
  await once(child, 'exit')
  return output
}

it('terminates nothing that runs after the code that Ctrl-C was for', async () => {
  const steps = `
    await createEvaluator().evaluate('1', 1)
    process.stdout.write('begun, ')
    const end = Date.now() + 500
    while (Date.now() < end);
    process.stdout.write('survived')`
  expect(await outputOf(steps, (interruptPipe) => interruptPipe.end('c'))).toBe('begun, survived')
})

it('terminates nothing that answers each of many Ctrl-C', async () => {
  const steps = `
    createEvaluator()
    process.stdout.write('begun, ')
    const end = Date.now() + 500
    while (Date.now() < end) {
      const next = Date.now() + 10
      while (Date.now() < next);
      await new Promise(setImmediate)
    }
    process.stdout.write('survived')`
  let timer: NodeJS.Timeout | undefined
  const interruptRepeatedly = (interruptPipe: Writable) => {
    timer = setInterval(() => interruptPipe.write('c'), 1)
    interruptPipe.once('close', () => clearInterval(timer))
  }
  expect(await outputOf(steps, interruptRepeatedly)).toBe('begun, survived')
  clearInterval(timer)
})
