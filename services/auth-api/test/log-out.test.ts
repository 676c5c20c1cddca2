import { aUser } from '@latchkey/test-support/a-user.ts'
import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { aToken, bearer, signToken, softDelete, startApp, type TestApp } from './support/start-app.ts'

/** REVOCATION_CACHE as production has it. */
const CACHE_SECONDS = 5

let app: TestApp
let replica: TestApp
beforeAll(async () => {
  app = await startApp({ settings: { REVOCATION_CACHE: String(CACHE_SECONDS) } })
  replica = await startApp({
    database: app.database,
    settings: {
      REVOCATION_CACHE: String(CACHE_SECONDS),
      JWT_SECRET: Buffer.from(app.config.tokens.secret).toString('base64'),
    },
  })
})
afterEach(() => {
  for (const each of [app, replica]) each.setClock(undefined)
})
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

const logOut = async (token: string, payload?: object, on = app) =>
  (
    await on.server.inject({
      method: 'POST',
      url: '/logout',
      headers: bearer(token),
      ...(payload && { payload }),
    })
  ).statusCode
const ping = async (token: string, on = app) =>
  (await on.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode

describe('POST /logout', () => {
  it('ends the token on this replica at once, and on every other within REVOCATION_CACHE', async () => {
    const user = await aUser(app)
    const [token, other] = [await aToken(app, user), await aToken(app, user)]
    const start = Date.now()
    replica.setClock(start)
    expect(await ping(token, replica)).toBe(200)
    expect(await logOut(token)).toBe(204)
    expect(await ping(token)).toBe(401)
    replica.setClock(start + CACHE_SECONDS * 1000)
    expect(await ping(token, replica), 'still remembered').toBe(200)
    replica.setClock(start + CACHE_SECONDS * 1000 + 1)
    expect(await ping(token, replica)).toBe(401)
    expect(await ping(other), 'another login').toBe(200)
    expect(await logOut(token), 'again').toBe(401)
  })

  it('ends the other tokens of its session on this replica at once', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const sibling = await signToken(app, user, { claims: { sid: decodeJwt(token).sid } })
    expect(await ping(sibling)).toBe(200)
    expect(await logOut(token)).toBe(204)
    expect(await ping(sibling)).toBe(401)
  })

  it('ends just its own among many tokens that a replica sees for the first time at once', async () => {
    const deleted = await aUser(app)
    const users = [await aUser(app), await aUser(app), deleted, await aUser(app), await aUser(app)]
    const tokens = await Promise.all(users.map((user) => aToken(app, user)))
    await logOut(tokens[1] ?? '')
    await logOut(tokens[4] ?? '', { everywhere: true })
    await softDelete(app, deleted)
    const statuses = await Promise.all(tokens.map((token) => ping(token, replica)))
    expect(statuses).toEqual([200, 401, 401, 200, 401])
  })

  it('ends all tokens of the user everywhere, and no token of anybody else', async () => {
    const [user, neighbour] = [await aUser(app), await aUser(app)]
    const [token, other] = [await aToken(app, user), await aToken(app, user)]
    const neighbours = await aToken(app, neighbour)
    expect(await logOut(token, { everywhere: true })).toBe(204)
    for (const ended of [token, other]) expect(await ping(ended)).toBe(401)
    expect(await ping(neighbours)).toBe(200)
    expect(await ping(await aToken(app, user)), 'a login right after').toBe(200)
  })

  it('ends its own token everywhere although the clock was set back since', async () => {
    const token = await aToken(app, await aUser(app))
    // Before the token was issued, within the leeway that its `nbf` has.
    const secondsBefore = ((decodeJwt(token).iat ?? 0) - 4) * 1000
    for (const each of [app, replica]) each.setClock(secondsBefore)
    expect(await logOut(token, { everywhere: true })).toBe(204)
    for (const each of [app, replica]) expect(await ping(token, each)).toBe(401)
  })

  it('ends everywhere what a replica has issued whose clock is ahead', async () => {
    const user = await aUser(app)
    replica.setClock(Date.now() + 4_900)
    const ahead = await aToken(replica, user)
    expect(await logOut(await aToken(app, user), { everywhere: true })).toBe(204)
    for (const each of [app, replica]) expect(await ping(ahead, each)).toBe(401)
    expect(await ping(await aToken(app, user), replica), 'a login right after').toBe(200)
  })

  it('ends nothing everywhere by a token that has ended, and that the replica still remembers', async () => {
    const user = await aUser(app)
    const [stolen, own] = [await aToken(app, user), await aToken(app, user)]
    expect(await ping(stolen, replica)).toBe(200)
    expect(await logOut(stolen)).toBe(204)
    expect(await logOut(stolen, { everywhere: true }, replica)).toBe(401)
    expect(await ping(stolen, replica)).toBe(401)
    expect(await ping(own)).toBe(200)
  })

  it('leaves one row, which lives as long as the last token of its session may', async () => {
    const token = await aToken(app, await aUser(app))
    const before = await revocations()
    const now = Date.now()
    await logOut(token)
    const added = (await revocations()).slice(before.length)
    expect(added).toHaveLength(1)
    const lifetimeMs = app.config.tokens.lifetimeSeconds * 1000
    expect(Math.abs((added[0]?.expires_at.getTime() ?? 0) - now - lifetimeMs)).toBeLessThan(60_000)
  })

  it('leaves no row everywhere', async () => {
    const before = await revocations()
    await logOut(await aToken(app, await aUser(app)), { everywhere: true })
    expect(await revocations()).toEqual(before)
  })

  it.each([{ everywhere: 'yes' }, { everywhere: 1 }, { everywhere: null }])(
    'refuses the body %o and ends nothing',
    async (payload) => {
      const token = await aToken(app, await aUser(app))
      expect(await logOut(token, payload)).toBe(400)
      expect(await ping(token)).toBe(200)
    },
  )
})

const revocations = () =>
  app.database.db.query<{ expires_at: Date }>({
    name: 'test-revocations',
    text: 'select expires_at from token_revocation order by expires_at',
  })
