import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { recordWaits } from './support/record-waits.ts'
import { type RecordingDatabase, recording } from './support/recording-database.ts'
import { aToken, bearer, logIn, mailTo, startApp, type TestApp } from './support/start-app.ts'

let database: RecordingDatabase
let app: TestApp
beforeAll(async () => {
  database = recording(await createTestDatabase())
  app = await startApp({
    database,
    settings: {
      EMAIL_CHANGE: 'confirmed',
      RATE_LIMIT_LOGIN: '3',
      RATE_LIMIT_RESET: '3',
      TRUST_PROXY: '127.0.0.1',
    },
  })
})
beforeEach(() => newAddress())
afterEach(() => {
  app.setClock(undefined)
  vi.restoreAllMocks()
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

let hosts = 0
let address = ''
/** A new address, so that limits count each test separately. */
const newAddress = () => {
  address = `10.2.${Math.floor(++hosts / 250)}.${hosts % 250}`
}

const send = (method: 'GET' | 'PUT' | 'POST', url: string, token: string, payload?: object) =>
  app.server.inject({
    method,
    url,
    headers: { ...bearer(token), 'x-forwarded-for': address },
    ...(payload && { payload }),
  })
const change = (token: string, email: string, currentPassword: string | undefined = PASSWORD) =>
  send('PUT', '/profile', token, { email, current_password: currentPassword })
/** Confirms a change from a new address, which has sent no wrong code. */
const confirm = (token: string, code: string) => {
  newAddress()
  return send('POST', '/profile/confirmemail', token, { code })
}
const read = async (token: string) => (await send('GET', '/profile', token)).json()
const ping = async (token: string) => (await send('GET', '/sampleprotected/ping', token)).statusCode
const otherThan = (code: string) => (code === '000000' ? '000001' : '000000')

let names = 0
const anEmail = () => `new${++names}-${crypto.randomUUID()}@example.com`

/** A user with a requested change of e-mail. */
async function aChange() {
  const user = await aUser(app)
  const token = await aToken(app, user)
  const email = anEmail()
  expect((await change(token, email)).statusCode).toBe(200)
  return { user, token, email, code: (await mailTo(app, email)).variables.code ?? '' }
}

const expectRefused = (response: Awaited<ReturnType<typeof confirm>>) => {
  const { instance: _instance, ...body } = response.json()
  expect(body).toEqual({
    type: 'urn:latchkey:problem:email-change-refused',
    title: 'Change of e-mail refused',
    status: 422,
    detail: 'Invalid or expired code; try again, or change the e-mail again',
  })
}

describe('a change of e-mail', () => {
  it('takes place once the code of the mail to the new address is confirmed', async () => {
    const user = await aUser(app, { name: 'Zoë' })
    await app.users.setProperty(user.userid, 'language', 'fr')
    const [token, other] = [await aToken(app, user), await aToken(app, user)]
    const email = anEmail()
    const requested = await change(token, email)
    expect(requested.statusCode, requested.body).toBe(200)
    expect(requested.json()).toMatchObject({ email: user.email, pending_email: email })
    expect(await read(other)).toMatchObject({ email: user.email, pending_email: email })

    const { template, language, variables: opened, expiresAt } = await mailTo(app, email)
    expect({ template, language }).toEqual({ template: 'email-change', language: 'fr' })
    expect(opened).toMatchObject({ minutes: '10' })
    expect(opened.name, 'text of the user at an address of somebody else').toBeFalsy()
    expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(590_000)
    expect((await logIn(app, email)).statusCode, 'not yet').toBe(401)

    const confirmed = await confirm(token, opened.code ?? '')
    expect(confirmed.statusCode, confirmed.body).toBe(200)
    expect(confirmed.json()).toMatchObject({ userid: user.userid, email })
    expect(confirmed.json()).not.toHaveProperty('pending_email')
    expect(await read(token)).toEqual(confirmed.json())
    expect((await logIn(app, email)).statusCode).toBe(200)
    expect((await logIn(app, user.email)).statusCode).toBe(401)
    expect(await mailTo(app, user.email)).toMatchObject({ template: 'email-changed', language: 'fr' })
  })

  it('ends all other tokens and the open resets, and keeps the token that confirmed it', async () => {
    const { user, token, code } = await aChange()
    const other = await aToken(app, user)
    await app.server.inject({ method: 'POST', url: '/login/resetrequest', payload: { email: user.email } })
    expect((await confirm(token, code)).statusCode).toBe(200)
    app.setClock(Date.now() + 6_000)
    expect(await ping(other)).toBe(401)
    expect(await ping(token)).toBe(200)
    const find = {
      name: 'test-open-resets',
      text: 'select id from password_reset where email = $1 and used_at is null',
    }
    expect(await database.db.query(find, [user.email])).toEqual([])
  })

  it('keeps that token only until all tokens end the next time', async () => {
    const { user, token, code } = await aChange()
    await confirm(token, code)
    const other = await aToken(app, { ...user, email: (await read(token)).email })
    expect((await send('POST', '/logout', other, { everywhere: true })).statusCode).toBe(204)
    app.setClock(Date.now() + 6_000)
    expect(await ping(token)).toBe(401)
  })

  it.each([
    {
      given: undefined,
      detail: 'A change of the e-mail requires the current password; send it as current_password',
    },
    { given: 'wrong', detail: 'The current password is wrong' },
  ])('answers 422 to the current password $given, and changes nothing', async ({ given, detail }) => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const email = anEmail()
    const payload = { email, name: 'Never', ...(given && { current_password: given }) }
    const refused = await send('PUT', '/profile', token, payload)
    expect(refused.statusCode).toBe(422)
    expect(refused.json()).toMatchObject({ type: 'urn:latchkey:problem:wrong-password', detail })
    expect(await read(token)).toMatchObject({ email: user.email, name: 'Ada' })
    expect(await read(token)).not.toHaveProperty('pending_email')
    expect([...app.queued.values()].filter(({ to }) => to === email)).toEqual([])
  })

  it('needs no password for what is not another e-mail', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const verify = vi.spyOn(app.passwords, 'verify')
    const updated = await send('PUT', '/profile', token, { name: 'Grace', email: user.email.toUpperCase() })
    expect(updated.statusCode).toBe(200)
    expect(updated.json()).toMatchObject({ name: 'Grace', email: user.email.toUpperCase() })
    expect(updated.json()).not.toHaveProperty('pending_email')
    expect(verify).not.toHaveBeenCalled()
    expect(await ping(token)).toBe(200)
  })

  it('mails at most RATE_LIMIT_RESET codes an hour for an account', async () => {
    const token = await aToken(app, await aUser(app))
    for (let mail = 0; mail < 3; mail++) {
      newAddress()
      expect((await change(token, anEmail())).statusCode).toBe(200)
    }
    const spent = anEmail()
    const clients = Array.from({ length: 12 }, async () => {
      newAddress()
      return (await change(token, spent)).statusCode
    })
    const statuses = await Promise.all(clients)
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(6)
    expect(statuses).toContain(429)
  })

  it('mails a bounded number of codes an hour to one address, whoever requests them', async () => {
    const email = anEmail()
    const statuses = []
    for (let request = 0; request < 10; request++) {
      newAddress()
      statuses.push((await change(await aToken(app, await aUser(app)), email)).statusCode)
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(9)
    expect(statuses.at(-1)).toBe(429)
  })

  it('leaves at a multiple of 25 ms: a taken address takes another time than a free one', async () => {
    const token = await aToken(app, await aUser(app))
    const waits = recordWaits()
    expect((await change(token, anEmail())).statusCode).toBe(200)
    expect(waits.filter((ms) => ms > 0 && ms <= 25)).toHaveLength(1)
  })

  it('ends the earlier ones, also those of the same moment', async () => {
    app.setClock(Date.now())
    for (let round = 0; round < 6; round++) {
      newAddress()
      const { token, code } = await aChange()
      const email = anEmail()
      await change(token, email)
      expectRefused(await confirm(token, otherThan(code)))
      expect((await confirm(token, (await mailTo(app, email)).variables.code ?? '')).statusCode).toBe(200)
    }
  })
})

describe('an e-mail that another user has', () => {
  it('is answered like a free one, with the same work and rows, and a mail to its owner', async () => {
    const owner = await aUser(app, { name: 'Owner' })
    await app.users.setProperty(owner.userid, 'language', 'pt')
    const free = anEmail()
    const observed = []
    for (const email of [owner.email, free]) {
      newAddress()
      const user = await aUser(app)
      const token = await aToken(app, user)
      database.sent = []
      const { statusCode, headers, body } = await change(token, email)
      const work = database.names().filter((name) => !/^outbox-(mark|remove)/.test(name))
      const shape = body.replaceAll(email, 'new').replaceAll(user.email, 'old')
      observed.push({
        statusCode,
        headers: Object.keys(headers).toSorted(),
        shape: Object.keys(JSON.parse(shape)),
        pending: JSON.parse(shape).pending_email,
        work,
      })
    }
    expect(observed[0]).toEqual(observed[1])
    expect(observed[0]).toMatchObject({ statusCode: 200, pending: 'new' })
    expect(observed[0]?.work).toContain('outbox-insert')
    const mail = await mailTo(app, owner.email)
    expect(mail).toMatchObject({ template: 'email-in-use', language: 'pt', variables: { name: 'Owner' } })
    expect(mail.variables).not.toHaveProperty('code')
  })

  it('is refused with 409 where it was taken after the code had been mailed', async () => {
    const { user, token, email, code } = await aChange()
    await aUser(app, { email })
    const refused = await confirm(token, code)
    expect(refused.statusCode).toBe(409)
    expect(await read(token)).toMatchObject({ email: user.email })
    expect(await ping(token)).toBe(200)
  })
})

describe('one and the same refusal', () => {
  it('meets a wrong code, a used one, an older one, an expired one, and none at all', async () => {
    expectRefused(await confirm(await aToken(app, await aUser(app)), '123456'))
    const { token, code } = await aChange()
    expectRefused(await confirm(token, otherThan(code)))
    const newer = anEmail()
    await change(token, newer)
    expectRefused(await confirm(token, code))
    const second = (await mailTo(app, newer)).variables.code ?? ''
    expect((await confirm(token, second)).statusCode).toBe(200)
    expectRefused(await confirm(token, second))
  })

  it('meets the code from the end of RESET_TTL on', async () => {
    const now = Date.now()
    app.setClock(now)
    const early = await aChange()
    app.setClock(now + 599_999)
    expect((await confirm(early.token, early.code)).statusCode).toBe(200)
    newAddress()
    const late = await aChange()
    app.setClock(now + 599_999 + 600_000)
    expectRefused(await confirm(late.token, late.code))
    expect(await read(late.token)).not.toHaveProperty('pending_email')
  })

  it('meets the code of another user, and one that was mailed for a reset', async () => {
    const [mine, yours] = [await aChange(), await aChange()]
    if (mine.code !== yours.code) expectRefused(await confirm(yours.token, mine.code))
    const { token } = (
      await app.server.inject({
        method: 'POST',
        url: '/login/resetrequest',
        payload: { email: mine.user.email },
      })
    ).json()
    await expect.poll(async () => (await mailTo(app, mine.user.email)).template).toBe('password-reset')
    const resetCode = (await mailTo(app, mine.user.email)).variables.code ?? ''
    if (resetCode !== mine.code) {
      expectRefused(await confirm(mine.token, resetCode))
      const payload = { email: mine.user.email, token, code: mine.code }
      const swapped = await app.server.inject({ method: 'POST', url: '/login/confirmcode', payload })
      expect(swapped.statusCode).toBe(422)
    }
  })

  it('has no attempt left, and the profile shows no change that waits', async () => {
    const { user, token, email, code } = await aChange()
    const wrong = code === '000000' ? '000001' : '000000'
    expect(await read(token)).toHaveProperty('pending_email', email)
    for (let guess = 0; guess < 5; guess++) expectRefused(await confirm(token, wrong))
    expectRefused(await confirm(token, code))
    const profile = await read(token)
    expect(profile).toHaveProperty('email', user.email)
    expect(profile).not.toHaveProperty('pending_email')
  })

  it('meets the code after the password was changed', async () => {
    const { user, token, code } = await aChange()
    const changed = await send('PUT', '/profile/password', token, {
      current_password: PASSWORD,
      password: 'N3w-p4ssw0rd!',
    })
    expectRefused(await confirm(changed.json().token, code))
    expect((await read(changed.json().token)).email).toBe(user.email)
  })
})

describe('a change that fails', () => {
  it.each([
    'user-set-email',
    'password_reset-end-all',
    'property-insert',
    'outbox-insert',
    'email_change-use',
  ])('on its way at %s leaves everything as it was, and the code usable', async (statement) => {
    const { user, token, email, code } = await aChange()
    database.failing = statement
    const failed = await confirm(token, code).finally(() => {
      database.failing = undefined
    })
    expect(failed.statusCode).toBe(500)
    expect(await read(token)).toMatchObject({ email: user.email, pending_email: email })
    expect((await confirm(token, code)).statusCode).toBe(200)
  })

  it('on its way at the mail stores no change', async () => {
    const token = await aToken(app, await aUser(app))
    database.failing = 'outbox-insert'
    const failed = await change(token, anEmail()).finally(() => {
      database.failing = undefined
    })
    expect(failed.statusCode).toBe(500)
    expect(await read(token)).not.toHaveProperty('pending_email')
  })
})

describe('bad input', () => {
  it.each([{}, { code: 123456 }, { code: '12345' }, { code: '1234567' }, { code: '１２３４５６' }])(
    'is answered 400: %o',
    async (payload) => {
      const { token } = await aChange()
      expect((await send('POST', '/profile/confirmemail', token, payload)).statusCode).toBe(400)
    },
  )

  it('no code or password stands in the database or the log', async () => {
    const { token, code, email } = await aChange()
    await confirm(token, code)
    const dump = []
    for (const table of ['users', 'users_property', 'email_change', 'mail_outbox'])
      dump.push(...(await database.db.query({ name: `test-dump-${table}`, text: `select * from ${table}` })))
    const text = [...dump.map((row) => JSON.stringify(row)), ...app.logLines].join('\n')
    expect(text).toContain(email)
    expect(text).not.toContain(PASSWORD)
    expect(text).not.toMatch(new RegExp(`(?<![0-9a-f])${code}(?![0-9a-f])`))
  })
})

describe('an immediate change of e-mail', () => {
  let immediate: TestApp
  beforeAll(async () => {
    immediate = await startApp({ database })
  })
  afterAll(() => immediate[Symbol.asyncDispose]())

  const setEmail = (token: string, email: string) =>
    immediate.server.inject({
      method: 'PUT',
      url: '/profile',
      headers: bearer(token),
      payload: { email, current_password: PASSWORD },
    })
  const pingThere = async (token: string) =>
    (await immediate.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode

  it('ends all other tokens and tells the old address', async () => {
    const user = await aUser(immediate)
    const [token, other] = [await aToken(immediate, user), await aToken(immediate, user)]
    const changed = await setEmail(token, `moved-${user.email}`)
    expect(changed.json()).toMatchObject({ email: `moved-${user.email}` })
    expect(changed.json()).not.toHaveProperty('pending_email')
    immediate.setClock(Date.now() + 6_000)
    expect(await pingThere(other)).toBe(401)
    expect(await pingThere(token), 'the one that changed it').toBe(200)
    const notices = () => [...immediate.queued.values()].filter(({ to }) => to === user.email)
    await expect.poll(() => notices().map(({ template }) => template)).toEqual(['email-changed'])
    immediate.setClock(undefined)
  })

  it('of only its case ends nothing and sends no notice', async () => {
    const user = await aUser(immediate)
    const [token, other] = [await aToken(immediate, user), await aToken(immediate, user)]
    expect((await setEmail(token, user.email.toUpperCase())).statusCode).toBe(200)
    expect(await pingThere(other)).toBe(200)
    expect([...immediate.queued.values()].filter(({ to }) => to === user.email)).toEqual([])
  })
})
