import { expect, it } from 'vitest'
import type { ServiceProcess } from './service-process.ts'
import { startOnFreePorts, startOnPort } from './start-on-free-ports.ts'

it.each([
  { why: 'its own', isFree: [true], exits: [undefined], expected: [9465] },
  { why: 'another when its own is taken', isFree: [false], exits: [undefined], expected: [0] },
  {
    why: 'another when a process takes its own first',
    isFree: [true, false, false],
    exits: ['1', undefined],
    expected: [9465, 0],
  },
  {
    why: 'its own alone when it fails for another reason',
    isFree: [true, true],
    exits: ['1'],
    expected: [9465],
  },
  { why: 'its own alone when it is stopped', isFree: [true, false], exits: ['0'], expected: [9465] },
  { why: 'another alone when it fails there too', isFree: [false, false], exits: ['1'], expected: [0] },
])('starts a service on a port: $why', async ({ isFree, exits, expected }) => {
  const ports: number[] = []
  const answers = isFree.values()
  const port = { port: 9465, isFree: async () => answers.next().value ?? true }
  const service = await startOnPort(port, (each) => {
    ports.push(each)
    return aService(exits[ports.length - 1])
  })
  expect(ports).toEqual(expected)
  const exit = exits.at(-1)
  if (exit) await expect(service.ready).rejects.toThrow(exit)
  else expect(await service.ready).toEqual({ ready: true })
})

it('starts a service five times at most', async () => {
  let starts = 0
  const service = await startOnFreePorts(
    () => {
      starts++
      return aService('98')
    },
    async () => true,
  )
  await expect(service.ready).rejects.toThrow('98')
  expect(starts).toBe(5)
})

/** A service that is ready at once, or ends before with `exit`. */
function aService(exit?: string): ServiceProcess {
  const ready = exit ? Promise.reject(new Error(exit)) : Promise.resolve({ ready: true as const })
  ready.catch(() => undefined)
  return {
    name: 'service',
    ready,
    exited: exit ? Promise.resolve(exit) : new Promise(() => undefined),
    stop: async () => undefined,
  }
}
