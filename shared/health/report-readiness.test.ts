import { describe, expect, it, vi } from 'vitest'
import type { Health } from './readiness.ts'
import { reportReadiness } from './report-readiness.ts'

const WAITING: Health = {
  isReady: false,
  checks: { service: 'ok', database: 'unreachable', queue: 'ok', mail: 'no answer' },
  reasons: { database: 'connect ECONNREFUSED' },
}
const READY: Health = {
  isReady: true,
  checks: { service: 'ok', database: 'ok', queue: 'ok', mail: 'ok' },
  reasons: {},
}

/** What is logged by a start that is ready after this number of looks. */
async function logsOfStart(looksUntilReady: number) {
  let looks = 0
  const logger = { info: vi.fn(), warn: vi.fn() }
  const report = reportReadiness({
    readiness: { read: async () => (looks++ < looksUntilReady ? WAITING : READY) },
    urls: {
      database: 'mysql://latchkey:s3cr3t@db.example.com:3306/latchkey',
      mail: 'smtps://robot:s3cr3t@smtp.example.com',
    },
    logger,
    address: () => 'http://127.0.0.1:1',
  })
  await expect.poll(() => logger.info.mock.calls).toHaveLength(1)
  await report.stop()
  return logger
}

describe('the report on readiness', () => {
  it('logs the host and the check that it waits for, never a password, then ready once', async () => {
    const logger = await logsOfStart(3)
    expect(logger.warn.mock.calls).toEqual([
      [
        expect.objectContaining({
          waitsFor: [
            'database at db.example.com:3306: unreachable (connect ECONNREFUSED)',
            'mail at smtp.example.com: no answer',
          ],
        }),
        'not ready, waiting',
      ],
    ])
    expect(JSON.stringify(logger.warn.mock.calls)).not.toContain('s3cr3t')
  })

  it('logs no wait that is over at the second look', async () => {
    expect((await logsOfStart(1)).warn).not.toHaveBeenCalled()
  })
})
