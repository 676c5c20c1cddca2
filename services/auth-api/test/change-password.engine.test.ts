import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { aToken, aUser, bearer, logIn, PASSWORD, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp()
})
afterAll(() => app[Symbol.asyncDispose]())

const change = (token: string, password: string) =>
  app.server.inject({
    method: 'PUT',
    url: '/profile/password',
    headers: bearer(token),
    payload: { currentPassword: PASSWORD, password },
  })

it('changes the password once when eight requests change it at the same time', async () => {
  const user = await aUser(app)
  const token = await aToken(app, user)
  const passwords = Array.from({ length: 8 }, (_, index) => `N3w-p4ssw0rd!${'kqwzxvjb'[index]}`)
  // All have passed the first check of their token before the first one changes the password.
  const { verify } = app.passwords
  const all = Promise.withResolvers<void>()
  const verified = vi.spyOn(app.passwords, 'verify').mockImplementation(async (...given) => {
    if (verified.mock.calls.length === passwords.length) all.resolve()
    await all.promise
    return verify(...given)
  })
  const answers = await Promise.all(passwords.map((password) => change(token, password)))
  verified.mockRestore()
  const statuses = answers.map(({ statusCode }) => statusCode)
  expect(
    statuses.filter((status) => status === 200),
    String(statuses),
  ).toHaveLength(1)
  for (const status of statuses) expect([200, 401, 422]).toContain(status)
  const winner = statuses.indexOf(200)
  for (const [index, password] of passwords.entries())
    expect((await logIn(app, user.email, password)).statusCode).toBe(index === winner ? 200 : 401)
  const ping = { url: '/sampleprotected/ping', headers: bearer(answers[winner]?.json().token) }
  expect((await app.server.inject(ping)).statusCode).toBe(200)
})
