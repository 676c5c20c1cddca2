import { describe, expect, it, vi } from 'vitest'
import type { Health } from './readiness.ts'
import { createHealthLog, reportReadiness } from './report-readiness.ts'

const WAITING: Health = {
  isReady: false,
  isDegraded: false,
  checks: { service: 'ok', database: 'unreachable', queue: 'ok', mail: 'no answer' },
  reasons: { database: 'connect ECONNREFUSED' },
  failures: { database: 0 },
}
const READY: Health = {
  isReady: true,
  isDegraded: false,
  checks: { service: 'ok', database: 'ok', queue: 'ok', mail: 'ok' },
  reasons: {},
  failures: { database: 0 },
}

/** Returns the log of a start that is ready after this number of looks. */
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
  it('logs no wait that is over at the second look', async () => {
    expect((await logsOfStart(1)).warn).not.toHaveBeenCalled()
  })

  it('logs one line when a dependency fails, and one when it does not any more, with the requests that failed', async () => {
    const failing = (count: number): Health => ({
      ...READY,
      isDegraded: true,
      checks: { ...READY.checks, service: 'degraded', database: 'failing' },
      reasons: { database: 'the disk of the database is full' },
      failures: { database: count },
    })
    const looks = [READY, failing(7), failing(40), failing(40), { ...READY, failures: { database: 42 } }]
    const logger = { info: vi.fn(), warn: vi.fn() }
    const log = createHealthLog({
      urls: { database: 'postgres://latchkey:s3cr3t@db:5432/latchkey' },
      logger,
      address: () => 'http://127.0.0.1:1',
    })
    for (const health of looks) log(health)
    expect(logger.warn.mock.calls).toEqual([
      [
        expect.objectContaining({
          fails: ['database at db:5432 (DATABASE_URL): failing (the disk of the database is full)'],
        }),
        'ready, degraded',
      ],
    ])
    expect(logger.info.mock.calls).toEqual([
      [{ address: 'http://127.0.0.1:1' }, 'ready'],
      [{ address: 'http://127.0.0.1:1', failed: 42 }, 'ready'],
    ])
  })
})
