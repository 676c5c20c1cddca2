import { setTimeout as wait } from 'node:timers/promises'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startApp, type TestApp } from './support/start-app.ts'

/** More addresses than the queue has places for. */
const ATTACKERS = 14
const PLACES = 12
const AT_ONCE = 3
/** The time that an attacker that was refused for lack of room waits; the longest Retry-After would be a second. */
const RETRY_MS = 100

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const start = () =>
  startApp({
    database,
    settings: {
      TRUST_PROXY: '127.0.0.1',
      RATE_LIMIT_LOGIN: '10',
      HASH_QUEUE: String(PLACES),
      PASSWORD_HASH: 'argon2id',
    },
  })

const logIn = async ({ server }: TestApp, username: string, password: string, address: string) => {
  const headers = { 'x-forwarded-for': address }
  return (await server.inject({ method: 'POST', url: '/login', headers, payload: { username, password } }))
    .statusCode
}

const addressOf = (attacker: number) => `198.51.100.${attacker}`

/** The credentials that an attacker sends. */
type CredentialsOf = (attacker: number, attempt: number) => [username: string, password: string]

const guess: CredentialsOf = (attacker, attempt) => [`nobody-${attacker}-${attempt}@example.com`, 'a guess']

/** Creates accounts that have logged in from the address of each attacker. */
async function ownAccounts(app: TestApp): Promise<CredentialsOf> {
  const accounts = await Promise.all(Array.from({ length: AT_ONCE }, () => aUser(app)))
  const credentialsOf: CredentialsOf = (_attacker, attempt) => [
    accounts[attempt % AT_ONCE]?.email ?? '',
    PASSWORD,
  ]
  for (let attacker = 0; attacker < ATTACKERS; attacker++)
    for (let account = 0; account < AT_ONCE; account++)
      expect(await logIn(app, ...credentialsOf(attacker, account), addressOf(attacker))).toBe(200)
  return credentialsOf
}

/** Sends logins from all attackers, each as fast as it is answered and until it is limited, from here on. */
function startFlood(app: TestApp, credentialsOf: CredentialsOf) {
  const statuses: number[] = []
  let isOver = false
  const flood = async (attacker: number, first: number) => {
    for (let attempt = first; !isOver; attempt += AT_ONCE) {
      const status = await logIn(app, ...credentialsOf(attacker, attempt), addressOf(attacker))
      statuses.push(status)
      if (status === 429) return
      if (status === 503) await wait(RETRY_MS)
    }
  }
  const floods = Array.from({ length: ATTACKERS * AT_ONCE }, (_, index) =>
    flood(index % ATTACKERS, Math.floor(index / ATTACKERS)),
  )
  return {
    count: (status: number) => statuses.filter((each) => each === status).length,
    async [Symbol.asyncDispose]() {
      isOver = true
      await Promise.all(floods)
    },
  }
}

it.each([
  { what: 'guess', prepare: async () => guess },
  { what: 'log in to their own accounts, where they are known', prepare: ownAccounts },
])('clients, known or new, are not refused while many addresses $what', async ({ prepare }) => {
  await using app = await start()
  const owner = await aUser(app)
  expect(await logIn(app, owner.email, PASSWORD, '192.0.2.1')).toBe(200)
  await using flood = startFlood(app, await prepare(app))
  await expect.poll(() => flood.count(503)).toBeGreaterThan(0)
  const known = []
  for (let login = 0; login < 8; login++) known.push(await logIn(app, owner.email, PASSWORD, '192.0.2.1'))
  expect(known, 'from the usual address').toEqual(Array(8).fill(200))
  const first = []
  for (let login = 0; login < 8; login++)
    first.push(await logIn(app, (await aUser(app)).email, PASSWORD, `203.0.113.${login}`))
  expect(first, 'from new addresses').toEqual(Array(8).fill(200))
})
