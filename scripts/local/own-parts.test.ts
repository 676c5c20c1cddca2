import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import getPort from 'get-port'
import { expect, it, vi } from 'vitest'
import { type Stop, startOwnParts } from './own-parts.ts'

vi.mock('get-port', { spy: true })

const GIVEN = {
  ...process.env,
  DATABASE_URL: 'postgres://database/x',
  QUEUE_URL: 'redis://queue',
  MAIL_URL: '',
}

it('starts the inbox again, as often as another process has just taken one of its ports', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port: taken } = other.address() as AddressInfo
  const free = await getPort()
  for (const [smtpPort, webPort] of [
    [taken, free],
    [free, taken],
  ] as const) {
    vi.mocked(getPort).mockResolvedValueOnce(smtpPort).mockResolvedValueOnce(webPort)
  }
  const stops: Stop[] = []
  try {
    const { inbox, environment } = await startOwnParts(GIVEN, stops)
    const { address } = (await inbox?.ready) ?? {}
    expect((await fetch(address ?? '')).status).toBe(200)
    expect([environment.MAIL_URL, address].join()).not.toContain(`:${taken}`)
    expect(stops.length, 'starts').toBeGreaterThanOrEqual(3)
  } finally {
    for (const stop of stops) await stop()
    other.close()
  }
})
