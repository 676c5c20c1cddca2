import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { prepareQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { aMailJob } from '@latchkey/shared/mail/queue/test/a-mail-job.ts'
import { engine, isPostgres } from '@latchkey/test-support/engine.ts'
import { createEmptyDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const JOB = aMailJob()

describe.runIf(isPostgres() && engine() !== 'pgbouncer')('the mail queue in PostgreSQL', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createEmptyDatabase()
    await prepareQueue(database.url)
  })
  afterAll(() => database[Symbol.asyncDispose]())

  it.each([
    { why: 'without options', options: '' },
    { why: 'with options of the session', options: '?options=-c%20work_mem%3D8MB' },
    { why: 'with its own search path', options: '?options=-c%20search_path%3Dpublic' },
  ])('is found by a QUEUE_URL $why', async ({ why, options }) => {
    const queue = openMailQueue(`${database.url}${options}`, { readInstallation: async () => 'test' })
    try {
      await queue.add(why, JOB)
      expect(await queue.has(why)).toBe(true)
    } finally {
      await queue.close()
    }
  })
})
