import { openSealed } from '@latchkey/shared/mail-outbox/test/open-sealed.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aToken, aUser, bearer, PASSWORD, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
let immediate: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { EMAIL_CHANGE: 'confirmed' } })
  immediate = await startApp({ database: app.database })
})
afterAll(async () => {
  await immediate[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

const change = (token: string, email: string, on = app) =>
  on.server.inject({
    method: 'PUT',
    url: '/profile',
    headers: bearer(token),
    payload: { email, currentPassword: PASSWORD },
  })
const confirm = (token: string, code: string) =>
  app.server.inject({
    method: 'POST',
    url: '/profile/confirmemail',
    headers: bearer(token),
    payload: { code },
  })
const ping = async (token: string, on = app) =>
  (await on.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode

async function codesTo(to: string): Promise<string[]> {
  const find = () => [...app.queued.values()].filter((job) => job.to === to)
  await expect.poll(() => find().length).toBeGreaterThan(0)
  const opened = find().map(({ variables }) => openSealed(app.config.mail.secret, variables))
  return (await Promise.all(opened)).map(({ code = '' }) => code)
}

describe('a confirmed change of e-mail', () => {
  it('is made once by eight right codes at the same time', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const email = `moved-${user.email}`
    expect((await change(token, email)).json()).toMatchObject({ email: user.email, pendingEmail: email })
    const [code = ''] = await codesTo(email)
    const statuses = (await Promise.all(Array.from({ length: 8 }, () => confirm(token, code)))).map(
      ({ statusCode }) => statusCode,
    )
    expect(statuses.toSorted()).toEqual([200, ...Array(7).fill(422)])
    expect((await app.users.findById(user.userid))?.email).toBe(email)
    const notices = () => [...app.queued.values()].filter(({ to }) => to === user.email)
    await expect.poll(() => notices().length).toBe(1)
  })

  it('has one open code after several requests at the same time', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const emails = Array.from({ length: 5 }, (_, index) => `${index}-${user.email}`)
    const answers = await Promise.all(emails.map((email) => change(token, email)))
    for (const { statusCode } of answers) expect(statusCode).toBe(200)
    const open = await app.database.db.query<{ email: string }>(
      {
        name: 'test-open-changes',
        text: 'select email from email_change where userid = $1 and used_at is null',
      },
      [app.database.db.toUuidValue(user.userid)],
    )
    expect(open).toHaveLength(1)
    const [code = ''] = await codesTo(open[0]?.email ?? '')
    expect((await confirm(token, code)).statusCode).toBe(200)
  })

  it('is given to one of two users who confirm the same address at the same time', async () => {
    const users = [await aUser(app), await aUser(app)]
    const tokens = await Promise.all(users.map((user) => aToken(app, user)))
    const email = `wanted-${users[0]?.email}`
    for (const token of tokens) expect((await change(token, email)).statusCode).toBe(200)
    await expect.poll(async () => (await codesTo(email)).length).toBe(2)
    const [first = '', second = ''] = await codesTo(email)
    const answers = await Promise.all(
      tokens.flatMap((token) => [first, second].map((code) => confirm(token, code))),
    )
    const statuses = answers.map(({ statusCode }) => statusCode)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    for (const status of statuses) expect([200, 409, 422]).toContain(status)
  })
})

describe('an immediate change of e-mail', () => {
  it('ends all other tokens and tells the old address', async () => {
    const user = await aUser(immediate)
    const [token, other] = [await aToken(immediate, user), await aToken(immediate, user)]
    const changed = await change(token, `moved-${user.email}`, immediate)
    expect(changed.json()).toMatchObject({ email: `moved-${user.email}` })
    expect(changed.json()).not.toHaveProperty('pendingEmail')
    immediate.setClock(Date.now() + 6_000)
    expect(await ping(other, immediate)).toBe(401)
    expect(await ping(token, immediate), 'the one that changed it').toBe(200)
    const notices = () => [...immediate.queued.values()].filter(({ to }) => to === user.email)
    await expect.poll(() => notices().map(({ template }) => template)).toEqual(['email-changed'])
    immediate.setClock(undefined)
  })

  it('of only its case ends nothing and sends no notice', async () => {
    const user = await aUser(immediate)
    const [token, other] = [await aToken(immediate, user), await aToken(immediate, user)]
    expect((await change(token, user.email.toUpperCase(), immediate)).statusCode).toBe(200)
    expect(await ping(other, immediate)).toBe(200)
    expect([...immediate.queued.values()].filter(({ to }) => to === user.email)).toEqual([])
  })
})
