import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { challengeOf, codeAt, enrolUser, factorSettings, post } from './support/factors.ts'
import { bearer, logIn, queuedMails, startApp, type TestApp } from './support/start-app.ts'

const typeOf = (name: string) => `urn:latchkey:problem:${name}`

let app: TestApp
let user: TestUser
let secret: string
let token: string
let recoveryCodes: string[]
/** The first step after the one whose code has confirmed the app. */
let now: number
beforeEach(async () => {
  app = await startApp({
    settings: factorSettings({ RATE_LIMIT_LOGIN: '4', RATE_LIMIT_RESET: '1', TRUST_PROXY: 'loopback' }),
  })
  user = await aUser(app)
  const begin = Date.now()
  const enrolled = await enrolUser(app, user, begin)
  secret = enrolled.secret
  token = enrolled.token
  recoveryCodes = enrolled.recoveryCodes
  now = begin + 30_000
  app.setClock(now)
})
afterEach(async () => {
  await app[Symbol.asyncDispose]()
})

const answerFrom = (address: string, challenge: string, code: string) =>
  app.server.inject({
    method: 'POST',
    url: '/login/secondfactor',
    payload: { challenge, code },
    headers: { 'x-forwarded-for': address },
  })
/** A code that is wrong at this time. */
const wrong = () => {
  const right = [-1, 0, 1].map((step) => codeAt(secret, now + step * 30_000))
  return ['000000', '111111', '222222', '333333'].find((code) => !right.includes(code)) ?? ''
}
const addressOf = (index: number) => `10.0.${Math.floor(index / 250)}.${1 + (index % 250)}`

it('limits wrong codes of an address and of an account like failed logins, not the owner elsewhere', async () => {
  const challenge = () => challengeOf(app, user)
  for (let guess = 0; guess < 4; guess++)
    expect((await answerFrom('10.0.0.1', await challenge(), wrong())).statusCode).toBe(422)
  const limited = await answerFrom('10.0.0.1', await challenge(), codeAt(secret, now))
  expect(limited.statusCode, 'even the right code').toBe(429)
  expect(Number(limited.headers['retry-after'])).toBeLessThanOrEqual(60)
  expect((await answerFrom('10.0.0.2', await challenge(), wrong())).statusCode).toBe(422)
  expect((await answerFrom('10.0.0.2', await challenge(), wrong())).statusCode, 'once').toBe(429)
  expect((await answerFrom('10.0.0.3', await challenge(), codeAt(secret, now))).statusCode).toBe(200)
})

it('takes five codes for a challenge, also from as many addresses at once', async () => {
  const challenge = await challengeOf(app, user)
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, index) => answerFrom(addressOf(index), challenge, wrong())),
  )
  const types = answers.map((answer) => answer.json().type)
  expect(types.filter((type) => type === typeOf('second-factor-refused')).length).toBeLessThanOrEqual(5)
  expect(types).toContain(typeOf('challenge-refused'))
  const right = await answerFrom('10.9.9.9', challenge, codeAt(secret, now))
  expect(right.json()).toMatchObject({
    type: typeOf('challenge-refused'),
    detail: expect.stringContaining('log in'),
  })
})

it('takes a hundred codes a day from strangers together, and then still the owner', async () => {
  // The owner has logged in from here before.
  const known = '10.7.7.7'
  const first = await answerFrom(known, await challengeOf(app, user), codeAt(secret, now))
  expect(first.statusCode).toBe(200)
  now += 30_000
  app.setClock(now)
  let refused = 0
  for (let guess = 0; guess < 130; guess++) {
    const response = await answerFrom(addressOf(guess), await challengeOf(app, user), wrong())
    if (response.statusCode === 422) refused++
  }
  // The enrolment and the first login of the owner came from strangers too, and were right.
  expect(refused).toBe(100)
  const stranger = await answerFrom('10.8.8.8', await challengeOf(app, user), codeAt(secret, now))
  expect(stranger.statusCode, 'the right code from elsewhere').toBe(429)
  const byRecovery = await answerFrom('10.8.8.8', await challengeOf(app, user), recoveryCodes[0] ?? '')
  expect(byRecovery.statusCode, 'a recovery code from elsewhere').toBe(200)
  const owner = await answerFrom(known, await challengeOf(app, user), codeAt(secret, now))
  expect(owner.statusCode, 'the right code from where the owner was before').toBe(200)
})

it.each(['/login/stepup', '/profile/factors/totp/confirm'])(
  'lets no token spend by %s what a login of its owner needs',
  async (url) => {
    const begun = await post(app, '/profile/factors/totp', { current_password: PASSWORD }, token)
    expect(begun.statusCode).toBe(200)
    const refusals = []
    for (let guess = 0; guess < 130; guess++) {
      const headers = { ...bearer(token), 'x-forwarded-for': addressOf(guess) }
      const response = await app.server.inject({ method: 'POST', url, payload: { code: wrong() }, headers })
      refusals.push(response.statusCode)
    }
    expect(refusals.filter((status) => status === 422)).toHaveLength(100)
    expect(refusals.slice(100).every((status) => status === 429)).toBe(true)
    const owner = await answerFrom('10.8.8.8', await challengeOf(app, user), codeAt(secret, now))
    expect(owner.statusCode, 'from a new address').toBe(200)
  },
)

describe('the owner hears', () => {
  const noticesOf = async () =>
    (await queuedMails(app)).filter(({ to, template }) => to === user.email && template === 'failed-factors')
  let hosts = 0
  /** Sends wrong codes after the right password, each from another address. */
  async function fail(times: number, code = wrong()) {
    for (let time = 0; time < times; time++) {
      const response = await answerFrom(addressOf(hosts++), await challengeOf(app, user), code)
      expect(response.statusCode).toBe(422)
    }
  }

  it('of several factors that were refused after the right password, once a day', async () => {
    await fail(3)
    await fail(1, 'a-wrong-recovery-code')
    expect(await noticesOf()).toEqual([])
    await fail(11)
    await expect.poll(noticesOf).toHaveLength(1)
    expect((await noticesOf())[0]).toMatchObject({
      variables: { count: '5', address: '10.0.*.*', at: expect.stringMatching(/UTC$/) },
    })
    now += 25 * 3_600_000
    app.setClock(now)
    await fail(5)
    await expect.poll(noticesOf).toHaveLength(2)
  })

  it('nothing of wrong codes of a step-up, which need no password', async () => {
    for (let guess = 0; guess < 6; guess++) {
      const headers = { ...bearer(token), 'x-forwarded-for': `10.9.0.${guess}` }
      const payload = { code: wrong() }
      expect(
        (await app.server.inject({ method: 'POST', url: '/login/stepup', payload, headers })).statusCode,
      ).toBe(422)
    }
    await fail(5)
    await expect.poll(noticesOf).toHaveLength(1)
    // It is the only mail of a day: a guess of the step-ups would have caused it before.
    expect((await noticesOf())[0]).toMatchObject({ variables: { address: '10.0.*.*' } })
  })
})

it('remembers where a login in two steps succeeded: strangers cannot spend the reset requests of that address', async () => {
  const known = '10.7.7.7'
  const won = await answerFrom(known, await challengeOf(app, user), codeAt(secret, now))
  expect(won.statusCode).toBe(200)
  const resetFrom = async (address: string) => {
    const headers = { 'x-forwarded-for': address }
    const payload = { email: user.email }
    return (await app.server.inject({ method: 'POST', url: '/login/resetrequest', payload, headers }))
      .statusCode
  }
  const strangers = Array.from({ length: 4 }, (_, index) => addressOf(index))
  const statuses = []
  for (const address of strangers) statuses.push(await resetFrom(address))
  expect(statuses).toEqual([200, 200, 200, 429])
  expect(await resetFrom(known)).toBe(200)
})

it('does not count the password of a user with a factor as a failed login', async () => {
  for (let login = 0; login < 12; login++) expect((await logIn(app, user.email)).statusCode).toBe(403)
  const text = await app.registry.metrics()
  expect(text).toContain('latchkey_logins_total{outcome="challenged"} 12')
  expect(text).toContain('latchkey_logins_total{outcome="refused"} 0')
  await answerFrom('10.0.0.1', await challengeOf(app, user), wrong())
  await answerFrom('10.0.0.2', await challengeOf(app, user), recoveryCodes[0] ?? '')
  const counted = await app.registry.metrics()
  expect(counted).toContain('latchkey_second_factors_total{factor="totp",outcome="refused"} 1')
  expect(counted).toContain('latchkey_second_factors_total{factor="recovery_code",outcome="succeeded"} 1')
})
