import { setTimeout as pause } from 'node:timers/promises'
import type { TestUser } from '@latchkey/test-support/a-user.ts'
import { COMBINATIONS } from '@latchkey/test-support/mail-servers.ts'
import { type RunningServices, startServices } from '@latchkey/test-support/running-services.ts'
import { hasDocker } from '@latchkey/test-support/servers/shared-server.ts'
import { waitFor } from '@latchkey/test-support/wait-for.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The time for which a server is unavailable; by hand, 60 seconds at 20 requests a second. */
const OUTAGE_SECONDS = Number(process.env.OUTAGE_SECONDS ?? 6)
/** Requests a second; by default few enough for a machine that runs other tests, because an overloaded service rightly answers 503. */
const REQUESTS_PER_SECOND = Number(process.env.REQUESTS_PER_SECOND ?? 10)

describe.skipIf(!hasDocker()).each(COMBINATIONS)('a forgotten password on %s', (combination) => {
  let flow: RunningServices
  beforeAll(async () => {
    flow = await startServices(combination)
  })
  afterAll(() => flow?.[Symbol.asyncDispose]())

  it(`is answered with 200, and mailed once, while the mail server is down for ${OUTAGE_SECONDS} s under load`, async () => {
    const users = await flow.newUsers(OUTAGE_SECONDS * REQUESTS_PER_SECOND)
    await flow.mailbox.goDown()
    const statuses = await requestSteadily(users)
    await flow.mailbox.comeUp()
    expect(new Set(statuses)).toEqual(new Set([200]))
    await expectOneMailEach(users)
  })

  it.skipIf(combination === 'PostgreSQL only')(
    `is answered with 200, and mailed once, while Redis is down for ${OUTAGE_SECONDS} s under load`,
    async () => {
      const users = await flow.newUsers(OUTAGE_SECONDS * REQUESTS_PER_SECOND)
      let statuses: number[] = []
      await flow.servers.withoutQueue(async () => {
        statuses = await requestSteadily(users)
      })
      expect(new Set(statuses)).toEqual(new Set([200]))
      await expectOneMailEach(users)
    },
  )

  /** Asks for a reset for each user, evenly spread over the outage; returns the statuses. */
  const requestSteadily = (users: readonly TestUser[]): Promise<number[]> =>
    Promise.all(
      users.map(async ({ email }, index) => {
        await pause((index * 1_000) / REQUESTS_PER_SECOND)
        return (await flow.request(email)).status
      }),
    )

  async function expectOneMailEach(users: readonly TestUser[]): Promise<void> {
    const counts = () => users.map(({ email }) => flow.mailbox.to(email).length)
    await waitFor(() => !counts().includes(0))
    // A repeat could only come from what the outbox or the queue still has.
    await expect.poll(() => unsettled(flow), { timeout: 60_000 }).toEqual({ rows: 0, jobs: 0 })
    expect(counts()).toEqual(users.map(() => 1))
  }
})

async function unsettled({ store }: RunningServices): Promise<{ rows: number; jobs: number }> {
  const rows = await store.db.query({ name: 'find-outbox', text: 'select id from mail_outbox' })
  const { waiting, active, delayed } = await store.queue.counts()
  return { rows: rows.length, jobs: waiting + active + delayed }
}
