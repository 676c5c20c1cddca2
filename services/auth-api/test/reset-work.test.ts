import type { Database, Queryable, Statement, Transaction } from '@latchkey/shared/database/database.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { aUser, softDelete, startApp, type TestApp } from './support/start-app.ts'
import { createTestDatabase, type TestDatabase } from './support/test-database.ts'

/** What the service does for the requests of a test: its statements and keyed hashes, in their order. */
let work: string[] = []
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>()
  const createHmac: typeof crypto.createHmac = (...given) => {
    work.push('keyed hash')
    return crypto.createHmac(...given)
  }
  return { ...crypto, createHmac }
})

let database: TestDatabase
let app: TestApp
beforeAll(async () => {
  database = await createTestDatabase()
  app = await startApp({ database: { ...database, db: recording(database.db) } })
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})
beforeEach(() => app.setClock(undefined))

function recording(db: Database): Database {
  const record =
    <Result>(run: (statement: Statement, values?: Parameters<Queryable['query']>[1]) => Promise<Result>) =>
    (statement: Statement, values?: Parameters<Queryable['query']>[1]) => {
      work.push(statement.name)
      return run(statement, values)
    }
  const recorded = <Given extends Queryable>(given: Given): Given => ({
    ...given,
    query: record((statement, values) => given.query(statement, values)),
    execute: record((statement, values) => given.execute(statement, values)),
  })
  return {
    ...recorded(db),
    transaction: (run) => db.transaction((transaction: Transaction) => run(recorded(transaction))),
  }
}

const post = (url: string, payload: object) => app.server.inject({ method: 'POST', url, payload })
const request = async (email: string): Promise<string> =>
  (await post('/login/resetrequest', { email })).json().token
const confirm = (email: string, token: string | undefined) =>
  post('/login/confirmcode', { email, code: '000000', ...(token && { token }) })
const setPassword = (email: string, token: string, password = 'N3w-p4ssw0rd!') =>
  post('/login/resetpassword', { email, token, password })

/** The work of a call that is refused. The mail of an earlier request may be dispatched meanwhile. */
async function workOf(call: () => Promise<{ statusCode: number }>): Promise<string[]> {
  work = []
  expect((await call()).statusCode).toBe(422)
  return work.filter((each) => !each.startsWith('outbox-'))
}

const STATES = [
  { state: 'open, with its token', token: (own: string) => own },
  { state: 'open, with another token', token: () => 'another token' },
  { state: 'expired', token: (own: string) => own, afterSeconds: 601 },
  { state: 'out of attempts', token: (own: string) => own, guesses: 6 },
]
const OWNERS = {
  known: { isDeleted: undefined },
  'deleted before': { isDeleted: 'before' },
  'deleted meanwhile': { isDeleted: 'meanwhile' },
} as const

/** An e-mail with a reset, and the token of that. */
async function aReset(owner: keyof typeof OWNERS | 'unknown') {
  if (owner === 'unknown') {
    const email = `nobody-${crypto.randomUUID()}@example.com`
    return { email, token: await request(email) }
  }
  const { isDeleted } = OWNERS[owner]
  const user = await aUser(app)
  if (isDeleted === 'before') await softDelete(app, user)
  const token = await request(user.email)
  if (isDeleted === 'meanwhile') await softDelete(app, user)
  return { email: user.email, token }
}

describe.each(STATES)('a reset that is $state', ({ token, afterSeconds = 0, guesses = 0 }) => {
  async function inState(owner: Parameters<typeof aReset>[0]) {
    const reset = await aReset(owner)
    for (let guess = 0; guess < guesses; guess++) await confirm(reset.email, reset.token)
    app.setClock(Date.now() + afterSeconds * 1_000)
    return reset
  }

  it.each([
    {
      route: 'resetpassword',
      call: (email: string, own: string) => setPassword(email, token(own)),
    },
    {
      route: 'resetpassword, refused by the policy',
      call: (email: string, own: string) => setPassword(email, token(own), 'short'),
    },
    { route: 'confirmcode', call: (email: string, own: string) => confirm(email, token(own)) },
    { route: 'confirmcode without a token', call: (email: string) => confirm(email, undefined) },
  ])('costs the same work for any e-mail: $route', async ({ call }) => {
    const done: Record<string, string[]> = {}
    for (const owner of ['unknown', 'known', 'deleted before', 'deleted meanwhile'] as const) {
      app.setClock(undefined)
      const reset = await inState(owner)
      done[owner] = await workOf(() => call(reset.email, reset.token))
    }
    expect(done.unknown).toContain('reset-newest')
    expect(done).toEqual({
      unknown: done.unknown,
      known: done.unknown,
      'deleted before': done.unknown,
      'deleted meanwhile': done.unknown,
    })
  })
})

it('an e-mail for which no reset was requested costs the same work, known or not', async () => {
  const { email } = await aUser(app)
  for (const call of [(to: string) => setPassword(to, 'a token'), (to: string) => confirm(to, undefined)])
    expect(await workOf(() => call(email))).toEqual(await workOf(() => call('nobody-here@example.com')))
})

it('a request for a reset costs the same work, whether the e-mail has a user or not', async () => {
  const { email } = await aUser(app)
  const deleted = await aUser(app)
  await softDelete(app, deleted)
  const done: string[][] = []
  for (const each of [email, deleted.email, 'nobody-at-all@example.com']) {
    work = []
    await request(each)
    // The mail of an earlier request may be dispatched meanwhile.
    done.push(work.filter((name) => !/^outbox-(mark|remove)/.test(name)))
  }
  expect(done[0]).toContain('reset-insert')
  expect(done).toEqual([done[0], done[0], done[0]])
})
