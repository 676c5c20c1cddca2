import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { aToken, aUser, bearer, logIn, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp({ auditFlushMs: 20 })
})
afterAll(() => app[Symbol.asyncDispose]())

it('the audit trail has what happened to a user, newest first', async () => {
  const user = await aUser(app)
  await logIn(app, user.email, 'a wrong password')
  const headers = bearer(await aToken(app, user))
  await app.server.inject({ method: 'POST', url: '/logout', headers, payload: { everywhere: true } })
  const { findNewest } = createAuditRepository(app.database.db)
  await expect.poll(() => findNewest(user.userid, 10)).toHaveLength(3)
  const events = await findNewest(user.userid, 10)
  expect(events.map(({ name }) => name).toSorted()).toEqual([
    'login.refused',
    'login.succeeded',
    'sessions.logged_out',
  ])
  for (const event of events)
    expect(event).toMatchObject({
      userid: user.userid,
      address: '127.0.0.1',
      requestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      count: 1,
      at: expect.any(Date),
    })
  expect(await findNewest(user.userid, 1)).toEqual(events.slice(0, 1))
  expect(await findNewest(crypto.randomUUID(), 10)).toEqual([])
})

it('the audit trail stores a batch, and what no database can hold is cut', async () => {
  const { insert, findNewest } = createAuditRepository(app.database.db)
  const userid = crypto.randomUUID()
  const at = new Date(1_800_000_000_123)
  const batch = Array.from(
    { length: 70 },
    (_, n) => ({ name: 'login.refused', userid, at, count: n }) as const,
  )
  await insert([
    ...batch,
    { name: 'limit.reached', userid, address: 'é'.repeat(200), reason: 'r'.repeat(200), at },
  ])
  const [newest, ...others] = await findNewest(userid, 100)
  expect(newest).toMatchObject({ address: 'é'.repeat(64), reason: 'r'.repeat(100), requestId: undefined, at })
  expect(others.map(({ count }) => count)).toEqual(Array.from({ length: 70 }, (_, n) => 69 - n))
})
