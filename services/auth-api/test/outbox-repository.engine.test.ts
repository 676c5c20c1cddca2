import { randomUUID } from 'node:crypto'
import { registerOutboxAge } from '@latchkey/shared/mail/outbox/outbox-age.ts'
import {
  createOutboxRepository,
  type OutboxRepository,
} from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import type { MailJob } from '@latchkey/shared/mail/queue/mail-job.ts'
import { aMailJob } from '@latchkey/shared/mail/queue/test/a-mail-job.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'

const NOW = Date.parse('2026-01-01T00:00:00.000Z')
const at = (seconds: number) => new Date(NOW + seconds * 1000)
const job = aMailJob({ expiresAt: at(600).toISOString() })

let database: TestDatabase
let outbox: OutboxRepository
beforeAll(async () => {
  database = await createTestDatabase()
  outbox = createOutboxRepository(database.db)
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(() => database.db.runScript('delete from mail_outbox'))

async function insert(mail: MailJob, now: Date): Promise<string> {
  const id = randomUUID()
  await outbox.insert(id, mail, now)
  return id
}

const ALL_DUE = { before: at(1), limit: 10, offset: 0 }
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id)
const findLeftBehind = async (query: Partial<typeof ALL_DUE> = {}) =>
  idsOf(await outbox.findLeftBehind({ ...ALL_DUE, ...query }))
const findToRecheck = async (query: Partial<typeof ALL_DUE> = {}) =>
  idsOf(await outbox.findToRecheck({ ...ALL_DUE, ...query }))

describe('a mail in the outbox', () => {
  it('is found as it was stored', async () => {
    const id = await insert(job, at(0))
    const row = {
      id,
      payload: JSON.stringify(job),
      createdAt: at(0),
      expiresAt: at(600),
      dispatchedAt: undefined,
    }
    expect(await outbox.findLeftBehind(ALL_DUE)).toEqual([row])
    await outbox.markDispatched([id], at(0.5))
    expect(await outbox.findToRecheck(ALL_DUE)).toEqual([{ ...row, dispatchedAt: at(0.5) }])
  })

  it('is there until it is removed, once', async () => {
    const [id, other] = [await insert(job, at(0)), await insert(job, at(0))]
    expect(await outbox.has(id)).toBe(true)
    expect(await outbox.remove(id), 'by the first worker').toBe(true)
    expect(await outbox.remove(id), 'by another one').toBe(false)
    expect([await outbox.has(id), await outbox.has(other)]).toEqual([false, true])
  })
})

it('removes one mail, then several, and no other', async () => {
  const ids = []
  for (const second of [1, 2, 3, 4]) ids.push(await insert(job, at(second)))
  await outbox.removeAll(ids.slice(0, 1))
  expect(await findLeftBehind({ before: at(10) })).toEqual(ids.slice(1))
  await outbox.removeAll(ids.slice(1, 3))
  expect(await findLeftBehind({ before: at(10) })).toEqual(ids.slice(3))
})

describe('a mail that failed', () => {
  it('stays, for an admin who has it sent, and counts as one that waits for nothing', async () => {
    const id = await insert(job, at(-60))
    await outbox.markFailed(id)
    expect(await outbox.has(id)).toBe(true)
    expect([await findLeftBehind(), await findToRecheck()]).toEqual([[], []])
    expect([await outbox.findOldest(), await outbox.findOldestUndispatched()]).toEqual([undefined, undefined])
  })

  it('has failed, though its writer records only then that the queue has it', async () => {
    const [failed, other] = [await insert(job, at(0)), await insert(job, at(0))]
    await outbox.markFailed(failed)
    await outbox.markDispatched([failed, other], at(0.5))
    expect(await findToRecheck()).toEqual([other])
  })

  it('is found once it has expired, to be deleted', async () => {
    const id = await insert(job, at(0))
    await outbox.markFailed(id)
    const [row] = await outbox.findToRecheck({ ...ALL_DUE, before: at(600.001) })
    expect(row).toMatchObject({ id, expiresAt: at(600), dispatchedAt: at(600) })
  })
})

describe('what is due', () => {
  it('was written before the given moment, and was never dispatched', async () => {
    const [written, dispatched] = [await insert(job, at(0)), await insert(job, at(0))]
    await outbox.markDispatched([dispatched], at(0))
    expect(await findLeftBehind({ before: at(0) })).toEqual([])
    expect(await findLeftBehind({ before: at(0.001) })).toEqual([written])
  })

  it('or was last dispatched before the given moment', async () => {
    const [, dispatched] = [await insert(job, at(0)), await insert(job, at(0))]
    await outbox.markDispatched([dispatched], at(10))
    expect(await findToRecheck({ before: at(10) })).toEqual([])
    expect(await findToRecheck({ before: at(10.001) })).toEqual([dispatched])
    await outbox.markDispatched([dispatched], at(20))
    expect(await findToRecheck({ before: at(20) })).toEqual([])
  })

  it('comes oldest first, in pages', async () => {
    const ids = []
    for (const second of [-1, -3, -2]) ids.push(await insert(job, at(second)))
    const [third = '', first = '', second = ''] = ids
    expect(await findLeftBehind()).toEqual([first, second, third])
    expect(await findLeftBehind({ limit: 1, offset: 1 })).toEqual([second])
    await outbox.markDispatched([first], at(0.2))
    await outbox.markDispatched([second, third], at(0.1))
    expect(await findToRecheck()).toEqual([second, third, first])
    expect(await findToRecheck({ limit: 1, offset: 1 })).toEqual([third])
  })
})

it('finds the oldest mail that the queue never had', async () => {
  expect(await outbox.findOldestUndispatched()).toBeUndefined()
  const id = await insert(job, at(-60))
  await insert(job, at(-30))
  expect(await outbox.findOldestUndispatched()).toEqual(at(-60))
  await outbox.markDispatched([id], at(0))
  expect(await outbox.findOldestUndispatched()).toEqual(at(-30))
})

describe('the age of the oldest mail', () => {
  const age = async (repository: Pick<OutboxRepository, 'findOldest'> = outbox) => {
    const registry = new Registry()
    registerOutboxAge(registry, { outbox: repository, localNow: () => NOW })
    const [metric] = await registry.getMetricsAsJSON()
    expect(metric?.name).toBe('latchkey_mail_oldest_unsent_seconds')
    return metric?.values[0]?.value
  }

  it('is that of the first one that is to be sent', async () => {
    expect(await age()).toBe(0)
    await insert({ ...job, expiresAt: at(-100).toISOString() }, at(-90))
    expect(await age(), 'with a decoy').toBe(0)
    await insert(job, at(-30))
    await insert(job, at(-60))
    expect(await age()).toBe(60)
  })

  it('is 0 where the clock was set back, and unknown without a database', async () => {
    await insert(job, at(5))
    expect(await age()).toBe(0)
    expect(await age({ findOldest: () => Promise.reject(new Error('unavailable')) })).toBeNaN()
  })
})
