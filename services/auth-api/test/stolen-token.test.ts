import { decodeJwt } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { aToken, aUser, bearer, logIn, queuedMails, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
beforeAll(async () => {
  app = await startApp({
    settings: { EMAIL_CHANGE: 'confirmed', RATE_LIMIT_LOGIN: '10', RATE_LIMIT_RESET: '5' },
  })
})
afterEach(() => app.setClock(undefined))
afterAll(() => app[Symbol.asyncDispose]())

const post = (url: string, payload: object, token?: string) =>
  app.server.inject({ method: 'POST', url, payload, headers: token ? bearer(token) : {} })
const ping = async (token: string) =>
  (await app.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode

describe('a stolen token', () => {
  it('does not take the account: another e-mail, then a reset sent there', async () => {
    const user = await aUser(app)
    const stolen = await aToken(app, user)
    const mailbox = `thief-of-${user.email}`
    await app.server.inject({
      method: 'PUT',
      url: '/profile',
      headers: bearer(stolen),
      payload: { email: mailbox },
    })
    await post('/profile/confirmemail', { code: await codeIn(mailbox, 'email-change') }, stolen)

    const { token } = (await post('/login/resetrequest', { email: mailbox })).json()
    const code = await codeIn(mailbox, 'password-reset')
    await post('/login/confirmcode', { email: mailbox, code, token })
    await post('/login/resetpassword', { email: mailbox, token, password: 'Th3-thief-was-here!' })
    expect((await logIn(app, mailbox, 'Th3-thief-was-here!')).statusCode).toBe(401)
    expect((await logIn(app, user.email)).statusCode, 'the owner').toBe(200)
  })

  it('cannot be refreshed without end beside the token of its owner', async () => {
    const user = await aUser(app)
    const stolen = await aToken(app, user)
    let [owners, thiefs] = [stolen, stolen]
    const refresh = async (token: string): Promise<string> => {
      const response = await post('/refreshtoken', {}, token)
      return response.statusCode === 200 ? response.json().token : token
    }
    for (let round = 0; round < 3; round++) {
      const exp = decodeJwt(owners).exp ?? 0
      app.setClock((exp - 200) * 1000)
      owners = await refresh(owners)
      app.setClock((exp - 100) * 1000)
      thiefs = await refresh(thiefs)
    }
    expect(await ping(thiefs)).toBe(401)
  })

  it('does not stay valid beside its successor', async () => {
    const stolen = await aToken(app, await aUser(app))
    const exp = decodeJwt(stolen).exp ?? 0
    app.setClock((exp - 200) * 1000)
    expect((await post('/refreshtoken', {}, stolen)).statusCode).toBe(200)
    app.setClock((exp - 100) * 1000)
    expect(await ping(stolen)).toBe(401)
  })
})

/** The code of a mail in the thief's mailbox; a wrong one if there is no such mail. */
async function codeIn(mailbox: string, template: string): Promise<string> {
  await expect.poll(async () => (await outboxRows()).length).toBe(0)
  const mail = (await queuedMails(app)).find((each) => each.to === mailbox && each.template === template)
  return mail?.variables.code ?? '000000'
}

const outboxRows = () =>
  app.database.db.query({
    name: 'test-undispatched',
    text: 'select id from mail_outbox where dispatched_at is null',
  })
