import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createTestDatabase } from '../../test/support/test-database.ts'
import { aToken, aUser, bearer, startApp } from './support/start-app.ts'

it('a replica whose clock is two minutes off says so, and others refuse its tokens until then', async () => {
  await using database = await createTestDatabase()
  const settings = { JWT_SECRET: randomBytes(64).toString('base64') }
  await using right = await startApp({ database, settings })
  const time = { now: Date.now() + 120_000, elapsed: 0 }
  await using wrong = await startApp({ database, settings, time })
  const ready = async () => {
    time.now += 1_000
    return (await wrong.server.inject({ url: '/health/ready' })).json().checks
  }
  await expect.poll(ready).toMatchObject({ service: 'degraded', clock: 'ahead of the clock of the database' })
  const token = await aToken(wrong, await aUser(wrong))
  const ping = (app: typeof right) =>
    app.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })
  expect((await ping(wrong)).statusCode).toBe(200)
  expect((await ping(right)).statusCode).toBe(401)
  right.setClock(time.now)
  expect((await ping(right)).statusCode).toBe(200)

  time.now = Date.now() - 120_000
  await expect.poll(ready).toMatchObject({ service: 'degraded', clock: 'behind the clock of the database' })
  time.now = Date.now()
  await expect.poll(ready).toMatchObject({ service: 'ok', clock: 'ok' })
})
