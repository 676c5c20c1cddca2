import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, it } from 'vitest'
import { isMetricsPortTaken, requireFreePorts } from './service-ports.ts'

it('names HOST, which shells and conda set too', async () => {
  await expect(requireFreePorts({ HOST: 'x86_64-conda-linux-gnu.invalid' })).rejects.toThrow(
    'Cannot listen on x86_64-conda-linux-gnu.invalid:8080: HOST is not an address of this machine.',
  )
})

it('names the setting of a port on which another process listens', async () => {
  await using other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const port = String((other.address() as AddressInfo).port)
  for (const [name, settings] of Object.entries({ PORT: { METRICS_PORT: '0' }, METRICS_PORT: { PORT: '0' } }))
    await expect(requireFreePorts({ HOST: '127.0.0.1', ...settings, [name]: port })).rejects.toThrow(
      `Cannot listen on 127.0.0.1:${port}: another process listens there. Stop it, or set ${name} to another port`,
    )
  const ofWorker = { HOST: '127.0.0.1', METRICS_PORT: port }
  expect(await isMetricsPortTaken(ofWorker)).toBe(true)
  await other[Symbol.asyncDispose]()
  expect(await isMetricsPortTaken(ofWorker)).toBe(false)
})
