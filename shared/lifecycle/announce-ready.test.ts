import { expect, it } from 'vitest'
import { createReadiness } from '../health/readiness.ts'
import { announceReady } from './announce-ready.ts'

it('a stop is unready at once, and takes requests until load balancers have noticed', async () => {
  const readiness = createReadiness({}, { localNow: Date.now })
  const stops: (() => unknown)[] = []
  const lifecycle: Parameters<typeof announceReady>[0] = {
    async open(openPart, close) {
      const part = await openPart()
      stops.push(() => close(part))
      return part
    },
    configureStop: () => undefined,
    fail: () => undefined,
  }
  const logged: string[] = []
  const log = (_: object, message: string) => void logged.push(message)
  const report = { urls: {}, logger: { info: log, warn: log }, address: () => '' }
  await announceReady(lifecycle, { readiness, drainDelaySeconds: 1, ...report })
  await expect.poll(() => logged).toEqual(['ready'])
  let isOver = false
  const stopped = Promise.all(stops.map((stop) => stop())).then(() => {
    isOver = true
  })
  expect(await readiness.read()).toMatchObject({ isReady: false, checks: { service: 'draining' } })
  expect(isOver).toBe(false)
  await stopped
})
