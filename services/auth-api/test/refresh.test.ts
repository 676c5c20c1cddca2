import { aUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { Claims } from '../src/tokens/claims.ts'
import { createRevocationRepository } from '../src/tokens/revocation-repository.ts'
import { type RecordingDatabase, recording } from './support/recording-database.ts'
import { aToken, bearer, signToken, startApp, type TestApp } from './support/start-app.ts'

/** The values of production. */
const [CACHE_SECONDS, GRACE_SECONDS] = [5, 10]
const DAY_SECONDS = 86_400

let database: RecordingDatabase
let app: TestApp
let replica: TestApp
beforeAll(async () => {
  database = recording(await createTestDatabase())
  app = await startApp({ database })
  replica = await startApp({ database, settings: secretOf(app) })
})
afterEach(() => {
  for (const each of [app, replica]) each.setClock(undefined)
  database.failing = undefined
})
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const post = (url: string, token: string, on = app) =>
  on.server.inject({ method: 'POST', url, headers: bearer(token) })
const refresh = async (token: string, on = app) => (await post('/refreshtoken', token, on)).statusCode
const refreshed = async (token: string, on = app): Promise<string> => {
  const response = await post('/refreshtoken', token, on)
  expect(response.statusCode, response.body).toBe(200)
  return response.json().token
}
const ping = async (token: string, on = app) =>
  (await on.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode
const expOf = (token: string) => decodeJwt(token).exp ?? 0
const jtiOf = (token: string) => decodeJwt(token).jti
/** Sets the clocks to `left` seconds before `token` expires. */
function setLeft(token: string, left: number): void {
  for (const each of [app, replica]) each.setClock((expOf(token) - left) * 1000)
}
const reuses = (userid: string) =>
  [...app.logLines, ...replica.logLines].filter(
    (line) => line.includes('token.reused') && line.includes(userid),
  )

/** A token whose owner has refreshed it, and its successor. The clock is at the refresh. */
async function aRefreshedToken() {
  const user = await aUser(app)
  const token = await aToken(app, user)
  setLeft(token, 200)
  return { user, token, successor: await refreshed(token) }
}

/** The same, once the successor was used, at 150 seconds before the token expires. */
async function aReplacedToken() {
  const replaced = await aRefreshedToken()
  setLeft(replaced.token, 150)
  expect(await ping(replaced.successor, replica)).toBe(200)
  return replaced
}

describe('a refreshed token whose successor was not used, since the answer was lost', () => {
  it('is refreshed again by any replica until it expires', async () => {
    const { user, token } = await aRefreshedToken()
    const successors = [await refreshed(token, replica)]
    for (const left of [180, 100, 0.001]) {
      setLeft(token, left)
      expect(await ping(token, replica), 'another request').toBe(200)
      successors.push(await refreshed(token))
    }
    setLeft(token, 0)
    expect(await refresh(token)).toBe(401)
    for (const successor of successors) expect(await ping(successor)).toBe(200)
    expect(reuses(user.userid)).toEqual([])
  })

  it('is refreshed in a tab whose answer to the refresh before expires later', async () => {
    const first = await aToken(app, await aUser(app))
    setLeft(first, 290)
    const earlier = await refreshed(first)
    setLeft(first, 1)
    const later = await refreshed(first)
    expect(expOf(later) - expOf(earlier)).toBeGreaterThan(280)
    setLeft(earlier, 10)
    const next = await refreshed(earlier)
    setLeft(later, 10)
    expect(await ping(later)).toBe(200)
    expect(jtiOf(await refreshed(later))).toBe(jtiOf(next))
  })

  it('cannot be used to escape a logout', async () => {
    const { user, token, successor } = await aRefreshedToken()
    expect((await post('/logout', successor)).statusCode).toBe(204)
    expect(await refresh(token)).toBe(401)
    setLeft(token, 200 - CACHE_SECONDS - 1)
    expect(await ping(token)).toBe(401)
    expect(reuses(user.userid)).toEqual([])
  })

  it('leaves one row, until it has expired', async () => {
    const count = async () => (await database.db.query(COUNT)).length
    const before = await count()
    const { token } = await aRefreshedToken()
    await Promise.all(Array.from({ length: 5 }, () => refreshed(token)))
    expect((await count()) - before).toBe(1)
  })
})
const COUNT = { name: 'test-revocations', text: 'select id from token_revocation' }

describe('a refreshed token whose successor was used', () => {
  it('is refreshed again for ten seconds: by a second tab, or after a late answer', async () => {
    const { user, token, successor } = await aReplacedToken()
    setLeft(token, 150 - GRACE_SECONDS + 0.001)
    expect(await ping(token), 'a request in flight').toBe(200)
    expect(jtiOf(await refreshed(token))).toBe(jtiOf(successor))
    expect(await ping(successor)).toBe(200)
    expect(reuses(user.userid)).toEqual([])
    setLeft(token, 150 - GRACE_SECONDS)
    expect(await ping(token, replica), 'no later than before').toBe(401)
  })

  it('is refused after that and ends nothing, except by a refresh, which ends its session', async () => {
    const { user, token, successor } = await aReplacedToken()
    const otherLogin = await aToken(app, user)
    setLeft(token, 150 - GRACE_SECONDS)
    for (const on of [app, replica]) expect(await ping(token, on), 'another request').toBe(401)
    expect((await post('/logout', token)).statusCode).toBe(401)
    expect(await ping(successor)).toBe(200)
    expect(reuses(user.userid)).toEqual([])

    const reuse = await post('/refreshtoken', token, replica)
    expect(reuse.statusCode).toBe(401)
    expect(reuse.json().type).toBe('urn:latchkey:problem:invalid-token')
    expect(reuses(user.userid)).toHaveLength(1)
    setLeft(token, 150 - GRACE_SECONDS - CACHE_SECONDS - 1)
    for (const on of [app, replica]) expect(await ping(successor, on)).toBe(401)
    setLeft(successor, 100)
    expect(await refresh(successor)).toBe(401)
    expect(await ping(otherLogin), 'another login').toBe(200)
    expect(reuses(user.userid), 'once').toHaveLength(1)
  })

  it.each<{ by: string; send: (successor: string) => Promise<{ statusCode: number }>; status: number }>([
    {
      by: 'a request that it is not permitted',
      send: (token) => app.server.inject({ url: '/sampleprotected/pingadm', headers: bearer(token) }),
      status: 403,
    },
    {
      by: 'a refresh on another replica',
      send: (token) => post('/refreshtoken', token, replica),
      status: 200,
    },
  ])('counts as used by $by', async ({ send, status }) => {
    const { iat = 0 } = decodeJwt(await aToken(app, await aUser(app)))
    // A window as long as the lifetime of the successor.
    const user = await aUser(app)
    const token = await signToken(app, user, {
      claims: { iat: iat - 3_400, nbf: iat - 3_400, exp: iat + 200 },
    })
    await using wide = await startApp({
      database,
      settings: { ...secretOf(app), TOKEN_LIFETIME: '310', REFRESH_WINDOW: '300' },
    })
    setLeft(token, 200)
    wide.setClock((expOf(token) - 200) * 1000)
    const successor = await refreshed(token, wide)
    setLeft(successor, 299)
    expect((await send(successor)).statusCode).toBe(status)
    expect(await ping(token), 'in its grace').toBe(200)
    setLeft(successor, 299 - GRACE_SECONDS)
    expect(await ping(token, replica)).toBe(401)
    expect(await refresh(token)).toBe(401)
    expect(reuses(user.userid)).toHaveLength(1)
  })

  it('changes nothing after its grace on a replica that still remembers it', async () => {
    await using patient = await startApp({
      database,
      settings: { REVOCATION_CACHE: '60', ...secretOf(app) },
    })
    const { token, successor } = await aRefreshedToken()
    const rename = async () =>
      (
        await patient.server.inject({
          method: 'PUT',
          url: '/profile',
          headers: bearer(token),
          payload: { name: 'Thief' },
        })
      ).statusCode
    patient.setClock((expOf(token) - 200) * 1000)
    expect(await rename(), 'remembered').toBe(200)
    expect(await ping(successor)).toBe(200)
    patient.setClock((expOf(token) - 200 + GRACE_SECONDS) * 1000)
    expect(await rename()).toBe(401)
  })
})

describe('the first use of a successor', () => {
  const writes = () => database.names().filter((name) => name === 'token-end-predecessor').length

  it('is written once, whatever follows on any replica; other tokens write nothing', async () => {
    const { token, successor } = await aRefreshedToken()
    database.sent.length = 0
    for (const on of [app, replica]) expect(await ping(token, on)).toBe(200)
    expect(writes(), 'a token of a login').toBe(0)
    const together = Array.from({ length: 20 }, () => ping(successor))
    for (const status of await Promise.all(together)) expect(status).toBe(200)
    expect(writes()).toBe(1)
    database.sent.length = 0
    expect(await ping(successor)).toBe(200)
    expect(database.names(), 'a remembered token').toEqual([])
    for (const left of [190, 100, 1])
      for (const on of [app, replica]) {
        setLeft(token, left)
        expect(await ping(successor, on)).toBe(200)
      }
    setLeft(successor, 100)
    await refreshed(successor)
    expect(writes()).toBe(0)
  })

  it('is not written after the token before it has expired', async () => {
    const { successor } = await aRefreshedToken()
    database.sent.length = 0
    for (const left of [100, 50]) {
      setLeft(successor, left)
      expect(await ping(successor)).toBe(200)
    }
    expect(writes()).toBe(0)
  })

  it('keeps the first of two times that replicas write at once', async () => {
    const { token, successor } = await aReplacedToken()
    const claims = Claims.parse(decodeJwt(successor))
    await createRevocationRepository(database.db).endPredecessor(claims, new Date(expOf(token) * 1000))
    setLeft(token, 150 - GRACE_SECONDS)
    expect(await ping(token)).toBe(401)
  })

  it('is written by the next read where it could not be, and the request is answered', async () => {
    const { token, successor } = await aRefreshedToken()
    database.failing = 'token-end-predecessor'
    expect(await ping(successor)).toBe(200)
    setLeft(token, 100)
    expect(await refresh(token), 'not seen').toBe(200)
    database.failing = undefined
    setLeft(token, 90)
    expect(await ping(successor)).toBe(200)
    setLeft(token, 90 - GRACE_SECONDS)
    expect(await refresh(token)).toBe(401)
  })
})

it.each([
  { age: 90 * DAY_SECONDS - 1, status: 200 },
  { age: 90 * DAY_SECONDS, status: 401 },
])('a refresh is answered $status when the login is $age seconds old', async ({ age, status }) => {
  const user = await aUser(app)
  const now = Math.floor(Date.now() / 1000)
  const claims = { exp: now + 200, auth_time: now - age }
  const token = await signToken(app, user, { claims })
  app.setClock(now * 1000)
  const response = await post('/refreshtoken', token)
  expect(response.statusCode).toBe(status)
  expect(await ping(token), 'the token itself').toBe(200)
  if (status === 401) expect(response.json().detail).toContain('log in again')
})

const secretOf = ({ config }: TestApp) => ({
  JWT_SECRET: Buffer.from(config.tokens.secret).toString('base64'),
})
