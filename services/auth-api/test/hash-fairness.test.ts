import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/test-database.ts'
import { aUser, PASSWORD, startApp, type TestApp } from './support/start-app.ts'

const ATTACKERS = 20
/** How long an attacker that was refused for lack of room waits; the longest Retry-After would be a second. */
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
      HASH_QUEUE: '8',
      PASSWORD_HASH: 'argon2id',
    },
  })

const logIn = async ({ server }: TestApp, username: string, password: string, address: string) => {
  const headers = { 'x-forwarded-for': address }
  return (await server.inject({ method: 'POST', url: '/login', headers, payload: { username, password } }))
    .statusCode
}

/** Guesses from many addresses, each as fast as it is answered and until it is limited, from here on. */
function startFlood(app: TestApp) {
  const statuses: number[] = []
  let isOver = false
  const guess = async (attacker: number) => {
    for (let account = 0; !isOver; account++) {
      const address = `198.51.100.${attacker}`
      const status = await logIn(app, `nobody-${attacker}-${account}@example.com`, 'a guess', address)
      statuses.push(status)
      if (status === 429) return
      if (status === 503) await wait(RETRY_MS)
    }
  }
  const ended = Promise.all(Array.from({ length: ATTACKERS }, (_, attacker) => guess(attacker)))
  return {
    count: (status: number) => statuses.filter((each) => each === status).length,
    async [Symbol.asyncDispose]() {
      isOver = true
      await ended
    },
  }
}

it('a client that has logged in before is not refused while many addresses guess', async () => {
  await using app = await start()
  const owner = await aUser(app)
  expect(await logIn(app, owner.email, PASSWORD, '192.0.2.1')).toBe(200)
  await using flood = startFlood(app)
  await expect.poll(() => flood.count(503)).toBeGreaterThan(0)
  const statuses = []
  for (let login = 0; login < 15; login++) statuses.push(await logIn(app, owner.email, PASSWORD, '192.0.2.1'))
  expect(statuses).toEqual(Array(15).fill(200))
})
