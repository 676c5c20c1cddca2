import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { expect, it, onTestFinished } from 'vitest'
import { listen } from './listen.ts'
import { ListenError } from './listen-error.ts'

async function open(host: string, port = 0) {
  const server = Fastify()
  onTestFinished(() => server.close())
  await listen({ open: async (openPart) => openPart() }, server, { host, port, portSetting: 'METRICS_PORT' })
  return server
}

it.each(['192.0.2.1', 'no-such-host.invalid'])('says that HOST is not of this machine: %s', async (host) => {
  const refusal = await open(host).catch((error: Error) => error)
  expect(refusal).toBeInstanceOf(ListenError)
  expect(String(refusal)).toMatch(
    /Cannot listen on .*: HOST is not an address of this machine\. Set HOST=0\.0\.0\.0/,
  )
})

it('says which address is taken, and the setting that names another one', async () => {
  const { port } = (await open('127.0.0.1')).server.address() as AddressInfo
  await expect(open('127.0.0.1', port)).rejects.toThrow(
    `127.0.0.1:${port}: another process listens there. Stop it, or set METRICS_PORT`,
  )
})
