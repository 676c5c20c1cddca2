import { VALID_FROM_PROPERTY } from '@latchkey/shared/users/user.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { aToken, aUser, bearer, softDelete, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp()
})
afterEach(() => app.setClock(undefined))
afterAll(() => app[Symbol.asyncDispose]())

/** REVOCATION_CACHE as production has it. */
const CACHE_SECONDS = 5

const now = () => Math.floor(Date.now() / 1000)
const get = (url: string, token: string) => app.server.inject({ url, headers: bearer(token) })
const statusOf = async (token: string, url = '/sampleprotected/ping') => (await get(url, token)).statusCode
const setValidFrom = (userid: string, moment: number) =>
  app.users.setProperty(userid, VALID_FROM_PROPERTY, String(moment))

describe('the valid-from time', () => {
  it('ends the tokens issued before it within REVOCATION_CACHE seconds, and no token issued after', async () => {
    const revoked = await aUser(app)
    const old = await aToken(app, revoked)
    const start = Date.now()
    app.setClock(start)
    expect(await statusOf(old)).toBe(200)
    await setValidFrom(revoked.userid, now() + 2)
    app.setClock(start + CACHE_SECONDS * 1000)
    expect(await statusOf(old), 'still remembered').toBe(200)
    app.setClock(start + CACHE_SECONDS * 1000 + 1)
    expect(await statusOf(old)).toBe(401)
    expect(await statusOf(await aToken(app, revoked)), 'a login right after').toBe(200)
  })

  it('is read for each request when REVOCATION_CACHE is 0', async () => {
    await using uncached = await startApp({ database: app.database, settings: { REVOCATION_CACHE: '0' } })
    const revoked = await aUser(uncached)
    const old = await aToken(uncached, revoked)
    const ping = async (token: string) =>
      (await uncached.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode
    expect(await ping(old)).toBe(200)
    await setValidFrom(revoked.userid, now() + 2)
    expect(await ping(old)).toBe(401)
    expect(await ping(await aToken(uncached, revoked)), 'a login right after').toBe(200)
  })

  it.each(['/sampleprotected/ping', '/profile'])('ends the tokens of a deleted user: %s', async (url) => {
    const deleted = await aUser(app)
    const token = await aToken(app, deleted)
    const start = Date.now()
    app.setClock(start)
    expect(await statusOf(token, url)).toBe(200)
    await softDelete(app, deleted)
    app.setClock(start + CACHE_SECONDS * 1000 + 1)
    expect(await statusOf(token, url)).toBe(401)
  })
})
