import { hash, randomBytes } from 'node:crypto'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { countRows } from '@latchkey/test-support/test-database.ts'
import type { LightMyRequestResponse } from 'fastify'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectNothingLost, expectThiefFound, lastingSessions } from './model/lossy-clients.ts'
import { startReplicas } from './model/replicas.ts'
import { modelOptions } from './model/run-model.ts'
import { post } from './support/factors.ts'
import { bearer, startApp, type TestApp } from './support/start-app.ts'

const HOUR_MS = 3_600_000

/** Two replicas on one database, with a pool each. */
let app: TestApp
let replica: TestApp
beforeAll(async () => {
  const settings = {
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    REVOCATION_CACHE: '0',
  }
  app = await startApp({ settings })
  replica = await startApp({ settings, database: app.database })
})
afterEach(() => setClock(undefined))
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

function setClock(now: number | undefined): void {
  for (const each of [app, replica]) each.setClock(now)
}
const replicaOf = (index: number) => (index % 2 ? replica : app)

async function aSession() {
  const user = await aUser(app)
  const login = await post(app, '/login', { username: user.email, password: PASSWORD, remember: true })
  expect(login.statusCode, login.body).toBe(200)
  return { user, ...(login.json() as { token: string; refresh_token: string }) }
}
const exchange = (refresh_token: string, on = app) => post(on, '/refreshtoken', { refresh_token })
const ping = async (token: string, on = app) =>
  (await on.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode

/** Sends as many refreshes with one token at the same time, to both replicas. */
const atOnce = (count: number, refreshToken: string) =>
  Promise.all(Array.from({ length: count }, (_, index) => exchange(refreshToken, replicaOf(index))))

describe('forty refreshes with one token, on two replicas', () => {
  it('get one pair, with which the session goes on', async () => {
    const { user, refresh_token: begun } = await aSession()
    let current = begun
    for (let round = 1; round <= 3; round++) {
      setClock(Date.now() + round * HOUR_MS)
      const answers = await atOnce(40, current)
      expect(answers.map(({ statusCode }) => statusCode)).toEqual(answers.map(() => 200))
      const tokens = answers.map((answer) => answer.json())
      expect(new Set(tokens.map(({ refresh_token }) => refresh_token)).size).toBe(1)
      expect(new Set(tokens.map(({ token }) => decodeJwt(token).jti)).size).toBe(1)
      for (const [index, { token }] of tokens.entries()) expect(await ping(token, replicaOf(index))).toBe(200)
      current = tokens[0].refresh_token
    }
    expect([...app.logLines, ...replica.logLines].filter((line) => line.includes('token.reused'))).toEqual([])
    const { sessions } = (
      await app.server.inject({
        url: '/sessions',
        headers: bearer((await exchange(current)).json().token),
      })
    ).json()
    expect(sessions).toEqual([expect.objectContaining({ remembered: true, current: true })])
    expect(user.userid).toBeDefined()
  })

  it('leave no row behind, however often', async () => {
    const { refresh_token: begun } = await aSession()
    const count = () => countRows(app.database.db, 'token_revocation')
    const before = await count()
    let current = begun
    for (let round = 1; round <= 3; round++)
      current = (await atOnce(10, current))[0]?.json().refresh_token ?? ''
    expect(await count()).toBe(before)
  })

  it.each<{ by: string; end: (token: string, refreshToken: string) => Promise<LightMyRequestResponse> }>([
    { by: 'a logout', end: (token) => post(replica, '/logout', {}, token) },
    {
      by: 'a logout by the refresh token',
      end: (_, refresh_token) => post(replica, '/logout', { refresh_token }),
    },
    { by: 'a logout everywhere', end: (token) => post(replica, '/logout', { everywhere: true }, token) },
  ])('race $by, after which none is answered', async ({ end }) => {
    const { token, refresh_token } = await aSession()
    const [answers, ended] = await Promise.all([atOnce(20, refresh_token), end(token, refresh_token)])
    expect(ended.statusCode, ended.body).toBe(204)
    for (const { statusCode } of answers) expect([200, 401]).toContain(statusCode)
    const refreshed = answers.filter(({ statusCode }) => statusCode === 200).map((answer) => answer.json())
    for (const each of [...refreshed.map((answer) => answer.refresh_token), refresh_token])
      expect((await exchange(each)).statusCode).toBe(401)
    for (const each of refreshed) expect(await ping(each.token)).toBe(401)
  })
})

describe('a session with a refresh token', () => {
  const options = modelOptions(6, 20)
  async function startSessions() {
    const replicas = await startReplicas({ settings: { SESSION_LIFETIME: '0' } })
    const user = { username: 'ada', email: 'ada@example.com', name: 'Ada', role: 'user' }
    await replicas.users.insert({ ...user, passwordHash: hash('sha1', PASSWORD) })
    const kind = lastingSessions(replicas, { username: user.email, password: PASSWORD })
    return { replicas, kind, [Symbol.asyncDispose]: () => replicas[Symbol.asyncDispose]() }
  }

  it(`is not lost unless it was stolen, whatever the network loses: TEST_SEED=${options.seed}`, async () => {
    await using started = await startSessions()
    await expect(expectNothingLost(started.replicas, started.kind, options)).resolves.toBeUndefined()
  })

  it(`is ended by a thief who refreshes: TEST_SEED=${options.seed}`, async () => {
    await using started = await startSessions()
    await expect(expectThiefFound(started.replicas, started.kind, options)).resolves.toBeUndefined()
  })
})
