import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { serve, start } from './support.ts'

const LARGE = 256 * 1024 ** 2
/** Options for a large body, which may take more than the default 30 s on a busy machine. */
const IN_TIME = ['--timeout', '150']

/** The peak memory of a process, in MiB. */
function peakOf({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024
}

it('a response of 256 MiB takes no memory of that size', async () => {
  const { promise: measured, resolve: measure } = Promise.withResolvers<void>()
  await using server = await serve(async (_request, response) => {
    const chunk = Buffer.alloc(1024 ** 2, 'a')
    for (let sent = 0; sent < LARGE; sent += chunk.length)
      if (!response.write(chunk)) await once(response, 'drain')
    await measured
    response.end()
  })
  const { child, code } = start(['GET', server.url, ...IN_TIME])
  // This process would allocate all of it.
  const counter = spawn('sh', ['-c', `head -c ${LARGE} | wc -c; wc -c`], {
    stdio: [child.stdout, 'pipe', 'inherit'],
  })
  child.stdout.destroy()
  const [counted] = await once(counter.stdout, 'data')
  const peak = peakOf(child)
  measure()
  expect([Number(counted), Number(await text(counter.stdout)), await code]).toEqual([LARGE, 0, 0])
  expect(peak).toBeGreaterThan(20)
  expect(peak).toBeLessThan(LARGE / 1024 ** 2)
})
