import { once } from 'node:events'
import { createServer } from 'node:net'
import getPort from 'get-port'
import { expect, it, vi } from 'vitest'
import { findFreePort } from '../../services/mailer-worker/test/support/free-port.ts'
import { type Stop, startOwnParts } from './own-parts.ts'

vi.mock('get-port', { spy: true })

const GIVEN = {
  ...process.env,
  DATABASE_URL: 'postgres://database/x',
  QUEUE_URL: 'redis://queue',
  MAIL_URL: '',
}

it.each([
  { what: 'mail', isSmtp: true },
  { what: 'page', isSmtp: false },
])('starts the inbox again when another process has just taken the port of its $what', async ({ isSmtp }) => {
  const [free, taken] = [await findFreePort(), await findFreePort()]
  const other = createServer().listen(taken, '127.0.0.1')
  await once(other, 'listening')
  const [smtpPort, webPort] = isSmtp ? [taken, free] : [free, taken]
  vi.mocked(getPort).mockResolvedValueOnce(smtpPort).mockResolvedValueOnce(webPort)
  const stops: Stop[] = []
  try {
    const { inbox, environment } = await startOwnParts(GIVEN, stops)
    const { address } = (await inbox?.ready) ?? {}
    expect((await fetch(address ?? '')).status).toBe(200)
    expect([environment.MAIL_URL, address].join()).not.toContain(`:${taken}`)
  } finally {
    for (const stop of stops) await stop()
    other.close()
  }
})
