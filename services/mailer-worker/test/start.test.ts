import { randomBytes } from 'node:crypto'
import { startWorkerProcess } from '@latchkey/test-support/worker-process.ts'
import { describe, expect, it } from 'vitest'

const SECRET = randomBytes(32).toString('base64')
const UNAVAILABLE = {
  DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x',
  QUEUE_URL: 'redis://127.0.0.1:1',
  MAIL_SECRET: SECRET,
}

describe('starting mailer-worker', () => {
  it('lists the faults of its settings and of config/external.ts together, and exits with 78', async () => {
    const SHORT_SECRET = 'c2hvcnQ='
    await using worker = await startWorkerProcess({
      ...UNAVAILABLE,
      DATABASE_URL: 'mysql://u:hidden@x/y',
      QUEUE_URL: '',
      MAIL_URL: 'pigeon:',
      MAIL_FROM: 'a@example.com, b@example.com',
      // A missing one could be found in this checkout's own config/test/credentials.env.
      MAIL_SECRET: SHORT_SECRET,
      MAIL_CONCURRENCY: 'many',
      DKIM_DOMAIN: 'example.com',
    })
    await expect.poll(() => worker.process.exitCode).toBe(78)
    expect(worker.log()).not.toMatch(new RegExp(`${SHORT_SECRET}|hidden`))
    expect(worker.log().match(/(?<=^ {2})[A-Z_]+/gm)).toEqual([
      'QUEUE_URL',
      'MAIL_CONCURRENCY',
      'MAIL_SECRET',
      'MAIL_FROM',
      'DKIM_SELECTOR',
      'DKIM_KEY',
      'MAIL_URL',
    ])
  })

  it('starts unready, logs what it waits for, and stops at once', async () => {
    await using worker = await startWorkerProcess(UNAVAILABLE)
    await expect.poll(() => worker.log()).toContain('not ready, waiting')
    const ready = await worker.get('/health/ready')
    expect([ready.status, await ready.json()]).toMatchObject([
      503,
      {
        title: 'Temporarily unavailable',
        checks: { database: 'unreachable', queue: 'waits for the database', mail: 'ok' },
      },
    ])
    expect((await worker.get('/health/live')).status).toBe(200)
    expect(await worker.kill('SIGTERM')).toBe(0)
  })
})
