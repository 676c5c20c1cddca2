import { aUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { recordWaits } from './support/record-waits.ts'
import { type RecordingDatabase, recording } from './support/recording-database.ts'
import { softDelete, startApp, type TestApp } from './support/start-app.ts'

let database: RecordingDatabase
let app: TestApp
beforeAll(async () => {
  database = recording(await createTestDatabase())
  app = await startApp({ database, settings: { SIGN_UP: 'on', LOGIN_BY_MAIL: 'on' } })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const post = (url: string, payload: object) => app.server.inject({ method: 'POST', url, payload })
const request = async (email: string): Promise<string> =>
  (await post('/login/resetrequest', { email })).json().token
const confirm = (email: string, token?: string) =>
  post('/login/confirmcode', { email, code: '000000', ...(token && { token }) })
const setPassword = (email: string, token: string, password = 'N3w-p4ssw0rd!') =>
  post('/login/resetpassword', { email, token, password })

/** The statements of a call. The mail of an earlier request may be dispatched at the same time. */
async function workOf(call: () => Promise<unknown>): Promise<string[]> {
  database.sent = []
  await call()
  return database.names().filter((name) => !/^outbox-(mark|remove)/.test(name))
}

const OWNERS: Record<string, () => Promise<string>> = {
  unknown: async () => `nobody-${crypto.randomUUID()}@example.com`,
  known: async () => (await aUser(app)).email,
  deleted: async () => {
    const user = await aUser(app)
    await softDelete(app, user)
    return user.email
  },
}

/** The statements that `call` causes for each kind of owner, after their e-mail was prepared. */
async function workFor<Prepared>(
  prepare: (email: string) => Promise<Prepared>,
  call: (email: string, prepared: Prepared) => Promise<unknown>,
): Promise<Record<string, string[]>> {
  const work: Record<string, string[]> = {}
  for (const [owner, create] of Object.entries(OWNERS)) {
    const email = await create()
    const prepared = await prepare(email)
    work[owner] = await workOf(() => call(email, prepared))
  }
  return work
}

const expectEqual = (work: Record<string, string[]>, name: string): void => {
  expect(work.unknown).toContain(name)
  expect(work).toEqual({ unknown: work.unknown, known: work.unknown, deleted: work.unknown })
}

// `npm run bench:timing` measures how long each takes.
describe('an e-mail causes the same statements, whoever has it', () => {
  it('when a reset is requested', async () => {
    expectEqual(await workFor(async () => undefined, request), 'password_reset-insert')
  })

  it('when a code to log in with is requested, and when it is guessed', async () => {
    const requestCode = async (email: string) => (await post('/login/code', { email })).json().token
    expectEqual(await workFor(async () => undefined, requestCode), 'mailed_code-insert')
    const guess = (email: string, token: string) =>
      post('/login/code/confirm', { email, token, code: '000000' })
    expectEqual(await workFor(requestCode, guess), 'mailed_code-count-attempt')
    expectEqual(await workFor(async () => 'a token', guess), 'mailed_code-find-login')
  })

  it.each([
    { state: 'no reset', prepare: async () => 'a token' },
    { state: 'an open reset', prepare: request },
    {
      state: 'an open reset with another token',
      prepare: async (email: string) => `${await request(email)}x`,
    },
    {
      state: 'a reset out of attempts',
      async prepare(email: string) {
        const token = await request(email)
        for (let guess = 0; guess < 6; guess++) await confirm(email, token)
        return token
      },
    },
  ])('when $state is confirmed or used', async ({ prepare }) => {
    const calls = [confirm, (email: string) => confirm(email), setPassword]
    const weak = (email: string, token: string) => setPassword(email, token, 'short')
    for (const call of [...calls, weak]) expectEqual(await workFor(prepare, call), 'password_reset-newest')
  })
})

describe('an answer leaves at a multiple of 25 ms, which hides what a row costs', () => {
  it.each([
    { url: '/login/resetrequest', payload: { email: 'nobody@example.com' } },
    { url: '/login/code', payload: { email: 'nobody@example.com' } },
    {
      url: '/signup',
      payload: { email: 'new@example.com', username: 'new', password: 'N3w-p4ssw0rd!' },
    },
  ])('of $url', async ({ url, payload }) => {
    const waits = recordWaits()
    expect((await post(url, payload)).json()).toHaveProperty('token')
    expect(waits.filter((ms) => ms > 0 && ms <= 25)).toHaveLength(1)
  })
})
