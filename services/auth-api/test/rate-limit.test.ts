import { once } from 'node:events'
import { connect } from 'node:net'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { countRows, createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aToken, bearer, codeTo, queuedMails, startApp, type TestApp } from './support/start-app.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const start = (settings: Record<string, string>) =>
  startApp({ database, settings: { TRUST_PROXY: '127.0.0.1', ...settings } })

const post = (app: TestApp, url: string, payload: object, address: string) =>
  app.server.inject({ method: 'POST', url, payload, headers: { 'x-forwarded-for': address } })
const logIn = (app: TestApp, username: string, password: string, address = '203.0.113.1') =>
  post(app, '/login', { username, password }, address)

const expectLimited = (response: Awaited<ReturnType<typeof logIn>>) => {
  expect(response.statusCode).toBe(429)
  expect(Number(response.headers['retry-after'])).toBeGreaterThan(0)
  expect(response.json()).toMatchObject({ type: 'urn:latchkey:problem:rate-limited', status: 429 })
}

describe('RATE_LIMIT_LOGIN', () => {
  it('stops an attacker after that number of failures, right password or not, and no other client', async () => {
    await using app = await start({ RATE_LIMIT_LOGIN: '5' })
    const user = await aUser(app)
    const other = await aUser(app)
    for (let guess = 0; guess < 5; guess++)
      expect((await logIn(app, user.email, `wrong ${guess}`)).statusCode).toBe(401)
    expectLimited(await logIn(app, user.email, PASSWORD))
    expectLimited(await logIn(app, other.email, PASSWORD))
    expect((await logIn(app, other.email, PASSWORD, '203.0.113.2')).statusCode, 'another address').toBe(200)
    expect(
      (await logIn(app, user.email, PASSWORD, '203.0.113.3')).statusCode,
      'the owner, from elsewhere',
    ).toBe(200)
  })

  it('stops an address after that number of wrong codes of resets that others requested, and no other client', async () => {
    await using app = await start({ RATE_LIMIT_LOGIN: '5' })
    const victims = await Promise.all(Array.from({ length: 12 }, () => aUser(app)))
    const addressOf = (index: number) => `203.0.113.${10 + index}`
    const [owner, ...others] = victims
    if (!owner) throw new Error('no owner')
    for (const [index, { email }] of victims.entries())
      expect((await post(app, '/login/resetrequest', { email }, addressOf(index))).statusCode).toBe(200)
    const code = await codeTo(app, owner.email)
    const wrong = code === '000000' ? '000001' : '000000'

    const guesses = others.map(({ email }) =>
      post(app, '/login/confirmcode', { email, code: wrong }, '203.0.113.1'),
    )
    const statuses = (await Promise.all(guesses)).map(({ statusCode }) => statusCode).sort()
    expect(statuses).toEqual([...Array(5).fill(422), ...Array(6).fill(429)])
    const right = { email: owner.email, code }
    expectLimited(await post(app, '/login/confirmcode', right, '203.0.113.1'))
    expect((await post(app, '/login/confirmcode', right, addressOf(0))).statusCode, 'the owner').toBe(200)
    expect((await logIn(app, owner.email, PASSWORD, '203.0.113.1')).statusCode, 'a login').toBe(200)
  })

  it('counts the wrong codes of resets, sign-ups and changes of e-mail together', async () => {
    await using app = await start({ RATE_LIMIT_LOGIN: '3', SIGN_UP: 'on' })
    const user = await aUser(app)
    const token = await aToken(app, user)
    const given = { email: user.email, code: '123456' }
    const headers = { ...bearer(token), 'x-forwarded-for': '203.0.113.1' }
    const change = () =>
      app.server.inject({
        method: 'POST',
        url: '/profile/confirmemail',
        payload: { code: '123456' },
        headers,
      })
    const guesses = [
      () => post(app, '/login/confirmcode', given, '203.0.113.1'),
      () => post(app, '/signup/confirm', { ...given, token: 'x' }, '203.0.113.1'),
      change,
    ]
    for (const guess of guesses) expect((await guess()).statusCode).toBe(422)
    for (const guess of guesses) expectLimited(await guess())
    const reset = { email: user.email, token: 'x', password: PASSWORD }
    expectLimited(await post(app, '/login/resetpassword', reset, '203.0.113.1'))
  })

  it('answers 503 to concurrent correct logins when more than HASH_QUEUE would wait', async () => {
    await using app = await start({ RATE_LIMIT_LOGIN: '5', HASH_QUEUE: '7' })
    const user = await aUser(app)
    const answers = await Promise.all(Array.from({ length: 40 }, () => logIn(app, user.email, PASSWORD)))
    expect(answers.every(({ statusCode }) => [200, 503].includes(statusCode))).toBe(true)
    expect(answers.filter(({ statusCode }) => statusCode === 200).length).toBeGreaterThanOrEqual(12)
    const refused = answers.filter(({ statusCode }) => statusCode === 503)
    expect(refused.length).toBeGreaterThan(0)
    expect(refused[0]?.headers['retry-after']).toBe('1')
    expect(refused[0]?.json().type).toBe('urn:latchkey:problem:overloaded')
    expect(app.logLines.filter((line) => line.includes('"level":"error"'))).toEqual([])
    expect((await logIn(app, user.email, PASSWORD)).statusCode, 'afterwards').toBe(200)
  })

  it('lets the owner log in among concurrent guesses from many addresses', async () => {
    await using app = await start({ RATE_LIMIT_LOGIN: '5' })
    const user = await aUser(app)
    const guesses = Array.from({ length: 60 }, (_, index) =>
      logIn(app, user.email, 'wrong', `198.51.100.${index % 20}`),
    )
    expect((await logIn(app, user.email, PASSWORD, '192.0.2.77')).statusCode).toBe(200)
    const statuses = (await Promise.all(guesses)).map(({ statusCode }) => statusCode)
    // Five of the account's, and one from each address.
    const guessed = statuses.filter((status) => status === 401).length
    expect(guessed).toBeGreaterThanOrEqual(20)
    expect(guessed).toBeLessThanOrEqual(25)
  })

  it('trusts X-Forwarded-For from TRUST_PROXY only', async () => {
    await using app = await startApp({ database, settings: { RATE_LIMIT_LOGIN: '3' } })
    const user = await aUser(app)
    for (let from = 1; from <= 3; from++)
      await logIn(app, `nobody${from}@example.com`, 'wrong', `198.51.100.${from}`)
    expectLimited(await logIn(app, user.email, PASSWORD, '198.51.100.99'))
  })

  it.each([
    { trusted: '', header: '198.51.100.1', warnings: 1 },
    { trusted: '10.0.0.0/8', header: '198.51.100.1', warnings: 1 },
    { trusted: '127.0.0.1', header: '198.51.100.1', warnings: 0 },
    { trusted: '', header: undefined, warnings: 0 },
  ])(
    'warns $warnings times of X-Forwarded-For: $header while TRUST_PROXY is "$trusted"',
    async ({ trusted, header, warnings }) => {
      await using app = await startApp({ database, settings: { TRUST_PROXY: trusted } })
      for (let request = 1; request <= 3; request++)
        await app.server.inject({ url: '/health/live', headers: header ? { 'x-forwarded-for': header } : {} })
      const warned = app.logLines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn')
      expect(warned).toEqual(
        Array(warnings).fill(
          expect.objectContaining({ peer: '127.0.0.1', msg: expect.stringContaining('TRUST_PROXY') }),
        ),
      )
    },
  )
})

describe('RATE_LIMIT_LOGIN for changes of e-mail', () => {
  const changeTo = (app: TestApp, token: string, email: string, address = '203.0.113.1') =>
    app.server.inject({
      method: 'PUT',
      url: '/profile',
      headers: { ...bearer(token), 'x-forwarded-for': address },
      payload: { email },
    })

  it('stops a user who tries which e-mails are taken', async () => {
    await using app = await start({ RATE_LIMIT_LOGIN: '5' })
    const [taken, own] = [await aUser(app), await aUser(app)]
    const token = await aToken(app, own)
    for (let guess = 0; guess < 5; guess++)
      expect((await changeTo(app, token, taken.email)).statusCode).toBe(409)
    expectLimited(await changeTo(app, token, taken.email))
    expectLimited(await changeTo(app, token, 'free@example.com'))
    const rename = {
      method: 'PUT',
      url: '/profile',
      headers: bearer(token),
      payload: { name: 'Ada' },
    } as const
    expect((await app.server.inject(rename)).statusCode, 'another change').toBe(200)
    expect((await logIn(app, own.email, PASSWORD)).statusCode, 'a login').toBe(200)
  })

  it('mails no stranger for each change between two free addresses', async () => {
    await using app = await start({ RATE_LIMIT_RESET: '5' })
    const user = await aUser(app)
    const token = await aToken(app, user)
    const [one, two] = [`one-${user.email}`, `two-${user.email}`]
    let [current, mails] = [user.email, 0]
    for (let each = 0; each < 60; each++) {
      const next = current === one ? two : one
      if ((await changeTo(app, token, next, `10.1.0.${each}`)).statusCode !== 200) continue
      current = next
      mails++
    }
    expect(mails, 'up to the ceiling, each from another address').toBeLessThanOrEqual(15)
    const mailed = async () =>
      (await queuedMails(app)).filter(({ to }) => to === one || to === two || to === user.email)
    await expect.poll(mailed).toHaveLength(mails)
    const same = await changeTo(app, token, current.toUpperCase(), '10.1.1.1')
    expect(same.statusCode, 'the same mailbox').toBe(200)
  })

  it('mails nobody for a change back that was begun before the change, and so was not counted', async () => {
    await using app = await start({})
    const { db } = app.database
    const user = await aUser(app)
    const { email, userid } = user
    const token = await aToken(app, user)
    const [held, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = db.transaction(async (transaction) => {
      await createUserRepository(transaction).lock(userid)
      held.resolve()
      await gate.promise
    })
    // Also where the test fails: the transaction would hold its connection.
    using _gate = { [Symbol.dispose]: () => gate.resolve() }
    await held.promise
    const waiting = async () =>
      await countRows(db, "pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()")
    const away = changeTo(app, token, `moved-${email}`)
    await expect.poll(waiting).toBe(1)
    const back = changeTo(app, token, email)
    await expect.poll(waiting).toBe(2)
    gate.resolve()
    await holding
    expect((await away).statusCode).toBe(200)
    expect((await back).json()).toMatchObject({
      type: 'urn:latchkey:problem:insufficient-user-authentication',
      status: 401,
    })
    expect((await queuedMails(app)).filter(({ to }) => to === `moved-${email}`)).toEqual([])
  })

  it('does not count changes that succeed', async () => {
    await using app = await start({ RATE_LIMIT_LOGIN: '3', RATE_LIMIT_RESET: '8' })
    const token = await aToken(app, await aUser(app))
    for (let change = 0; change < 8; change++)
      expect((await changeTo(app, token, `free-${change}@example.com`)).statusCode).toBe(200)
  })
})

describe('RATE_LIMIT_RESET', () => {
  it.each([{ known: true }, { known: false }])(
    'limits the mails that one address requests for an account, and all addresses; the owner still gets one, known: $known',
    async ({ known }) => {
      await using app = await start({ RATE_LIMIT_RESET: '3' })
      const email = known ? (await aUser(app)).email : 'stranger@example.com'
      const ask = (from: number) => post(app, '/login/resetrequest', { email }, `198.51.100.${from}`)
      for (let request = 1; request <= 3; request++) expect((await ask(1)).statusCode).toBe(200)
      expectLimited(await ask(1))
      // The owner, from another address, and clients with many addresses get one each.
      for (let from = 2; from <= 7; from++) {
        expect((await ask(from)).statusCode).toBe(200)
        expectLimited(await ask(from))
      }
      for (let from = 8; from <= 20; from++) expectLimited(await ask(from))
      await expect.poll(() => app.queued.size).toBe(known ? 9 : 0)
    },
  )
})

describe('RATE_LIMIT_REQUESTS', () => {
  it('limits all requests of an address but health probes', async () => {
    await using app = await start({ RATE_LIMIT_REQUESTS: '4' })
    const get = (url: string, address: string) =>
      app.server.inject({ url, headers: { 'x-forwarded-for': address } })
    for (let request = 0; request < 4; request++)
      expect((await get('/nowhere', '203.0.113.1')).statusCode).toBe(404)
    expectLimited(await get('/profile', '203.0.113.1'))
    expect((await get('/health/live', '203.0.113.1')).statusCode).toBe(200)
    expect((await get('/nowhere', '203.0.113.2')).statusCode).toBe(404)
  })

  it('counts clients that disconnect at once as one address', async () => {
    await using app = await start({ RATE_LIMIT_REQUESTS: '4' })
    const { port } = new URL(await app.server.listen({ host: '127.0.0.1', port: 0 }))
    const hangUp = async () => {
      const socket = connect(Number(port), '127.0.0.1')
      await once(socket, 'connect')
      socket.write('GET /nowhere HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.1\r\n\r\n')
      socket.resetAndDestroy()
      await once(socket, 'close')
    }
    for (let client = 0; client < 20; client++) await hangUp()
    const log = app.logLines.map((line) => JSON.parse(line))
    expect(log.filter(({ level }) => level === 'error' || level === 'warn')).toEqual([])
    expect((await fetch(`http://127.0.0.1:${port}/nowhere`)).status, 'a client that stays connected').toBe(
      404,
    )
  })

  const ORIGIN = 'https://app.example.com'

  it.each([
    { what: 'bodies that are not JSON', method: 'POST', type: { 'content-type': 'text/plain' }, status: 415 },
    { what: 'OPTIONS that ask for no method', method: 'OPTIONS', type: {}, status: 200 },
  ] as const)(
    'counts $what, and lets a page of another origin read the refusal',
    async ({ method, type, status }) => {
      await using app = await start({ RATE_LIMIT_REQUESTS: '3', CORS_ORIGINS: ORIGIN })
      const ask = () =>
        app.server.inject({
          method,
          url: '/login',
          headers: { origin: ORIGIN, ...type },
          ...(method === 'POST' && { payload: 'x' }),
        })
      const answers = [await ask(), await ask(), await ask(), await ask()]
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([status, status, status, 429])
      for (const { headers } of answers) expect(headers['access-control-allow-origin']).toBe(ORIGIN)
    },
  )

  it.each([
    {
      origin: ORIGIN,
      what: 'counts no preflight of a page that may call the API',
      statuses: [200, 200, 200],
    },
    { origin: 'https://evil.example', what: 'counts the preflights of any other', statuses: [200, 200, 429] },
  ])('$what', async ({ origin, statuses }) => {
    await using app = await start({ RATE_LIMIT_REQUESTS: '2', CORS_ORIGINS: ORIGIN })
    const preflight = () =>
      app.server.inject({
        method: 'OPTIONS',
        url: '/login',
        headers: { origin, 'access-control-request-method': 'POST' },
      })
    const answers = [await preflight(), await preflight(), await preflight()]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(statuses)
  })
})
