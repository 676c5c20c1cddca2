import { codeAt, enrolUser, factorSettings } from '@latchkey/auth-api/test/support/factors.ts'
import { codeTo, startApp, type TestApp } from '@latchkey/auth-api/test/support/start-app.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { createClient, type LatchkeyError, NO_ANSWER } from '../src/client.js'

const HOUR_MS = 3_600_000
const NEW_PASSWORD = 'an0ther-Horse!'

let app: TestApp
let url = ''
beforeAll(async () => {
  app = await startApp({
    settings: factorSettings({ SIGN_UP: 'on', EMAIL_CHANGE: 'confirmed', ACCOUNT_DELETION: 'on' }),
  })
  url = await app.server.listen({ host: '127.0.0.1', port: 0 })
})
afterEach(() => {
  vi.useRealTimers()
})
afterAll(() => app[Symbol.asyncDispose]())

/** Moves the clock of the client, and that of the server, which is in the same process. */
const pass = (ms: number) => vi.setSystemTime(Date.now() + ms)

const connect = (options: Partial<Parameters<typeof createClient>[0]> = {}) => {
  const changes: unknown[] = []
  const client = createClient({ url, session: 'memory', ...options })
  client.onChange((user, { reason }) => changes.push([user?.name, reason]))
  return Object.assign(client, { changes })
}

async function connectLoggedIn(user: TestUser, options: Parameters<typeof connect>[0] = {}) {
  const client = connect(options)
  await client.logIn({ username: user.email, password: PASSWORD })
  return client
}

const refusal = (promise: Promise<unknown>): Promise<LatchkeyError> =>
  promise.then(
    () => expect.unreachable('It was not refused'),
    (error) => error,
  )

describe('a client of the API', () => {
  it('does all that an app needs', async () => {
    const email = 'new@example.com'
    const client = connect()
    const { token } = await client.signUp({ email, username: 'newcomer', password: PASSWORD })
    const user = await client.confirmSignUp({ email, code: await codeTo(app, email), token })
    expect(client.user).toEqual(user)
    expect(await client.profile()).toMatchObject({ email, userid: user.userid })
    expect(await client.updateProfile({ name: 'Grace' })).toMatchObject({ name: 'Grace' })
    expect((await client.request('GET', '/sessions')).sessions).toMatchObject([
      { current: true, remembered: true },
    ])
    pass(100 * HOUR_MS)
    expect((await client.fetch(`${url}/profile`)).status).toBe(200)
    expect(client.user?.name).toBe('Grace')
    await client.changePassword({ current_password: PASSWORD, password: NEW_PASSWORD })
    pass(100 * HOUR_MS)
    await client.profile()
    await client.logOut()
    expect(client.user).toBeUndefined()

    const { token: requested } = await client.requestReset({ email })
    const code = await codeTo(app, email, 'password-reset').catch(() => codeTo(app, email))
    const { token: confirmed } = await client.confirmReset({ email, code, token: requested })
    await client.resetPassword({ email, token: confirmed, password: PASSWORD })
    await client.logIn({ username: email, password: PASSWORD })
    await client.deleteAccount({ current_password: PASSWORD })
    expect(client.user).toBeUndefined()
    expect(await refusal(client.logIn({ username: email, password: PASSWORD }))).toMatchObject({
      status: 401,
    })
    expect(client.changes).toEqual([
      [expect.any(String), 'logged-in'],
      ['Grace', 'logged-in'],
      [undefined, 'logged-out'],
      ['Grace', 'logged-in'],
      [undefined, 'logged-out'],
    ])
  })

  it('lasts for ten refreshes, and for none longer than SESSION_IDLE', async () => {
    const client = await connectLoggedIn(await aUser(app))
    for (let day = 0; day < 10; day++) {
      pass(24 * HOUR_MS)
      await client.profile()
    }
    pass(31 * 24 * HOUR_MS)
    expect(await client.token()).toBeUndefined()
    expect(client.changes.at(-1)).toEqual([undefined, 'ended'])
  })

  it('shows a second factor at the login, and for what needs one', async () => {
    const user = await aUser(app)
    const { secret } = await enrolUser(app, user, Date.now())
    const confirm = async () => {
      pass(30_000)
      await client.stepUp({ code: codeAt(secret, Date.now()) })
    }
    const client = connect({ onStepUp: vi.fn(confirm) })
    const needed = await refusal(client.logIn({ username: user.email, password: PASSWORD }))
    expect(needed).toMatchObject({
      type: 'urn:latchkey:problem:second-factor-required',
      problem: { factors: ['totp'] },
    })
    pass(30_000)
    const challenge = String(needed.problem.challenge)
    const wrong = await refusal(client.secondFactor({ challenge, code: '000000' }))
    expect(wrong.type).toBe('urn:latchkey:problem:second-factor-refused')
    await client.secondFactor({ challenge, code: codeAt(secret, Date.now()) })
    pass(2 * HOUR_MS)
    await client.changePassword({ current_password: PASSWORD, password: NEW_PASSWORD })
    pass(48 * HOUR_MS)
    expect(await client.profile()).toMatchObject({ email: user.email })
    expect(client.changes).toEqual([['Ada', 'logged-in']])
  })

  it.each([
    {
      what: 'a log-out elsewhere',
      end: async (user: TestUser) => (await connectLoggedIn(user)).logOut({ everywhere: true }),
    },
    {
      what: 'the end of the session by another one',
      end: async (user: TestUser) => {
        const other = await connectLoggedIn(user)
        const { sessions } = await other.request('GET', '/sessions')
        for (const { id, current } of sessions) if (!current) await other.request('DELETE', `/sessions/${id}`)
      },
    },
    {
      what: 'a change of the password elsewhere',
      end: async (user: TestUser) =>
        (await connectLoggedIn(user)).changePassword({ current_password: PASSWORD, password: NEW_PASSWORD }),
    },
    {
      what: 'the deletion of the account',
      end: async (user: TestUser) =>
        (await connectLoggedIn(user)).deleteAccount({ current_password: PASSWORD }),
    },
  ])('ends with $what, at the next request', async ({ end }) => {
    const user = await aUser(app)
    const client = await connectLoggedIn(user)
    pass(10_000)
    await end(user)
    expect((await client.fetch(`${url}/profile`)).status).toBe(401)
    expect(client.user).toBeUndefined()
    expect(client.changes.at(-1)).toEqual([undefined, 'ended'])
  })

  it('lasts by its access token alone where it is not remembered', async () => {
    const user = await aUser(app)
    const client = connect()
    await client.logIn({ username: user.email, password: PASSWORD, remember: false })
    for (let hour = 0; hour < 5; hour++) {
      pass(HOUR_MS - 200_000)
      await client.profile()
    }
    pass(HOUR_MS)
    expect(await client.token()).toBeUndefined()
  })

  it('tells a wrong address, and a server that is not there, from a refusal', async () => {
    const wrong = connect({ url: `${url}/api/` })
    expect(await refusal(wrong.logIn({ username: 'a', password: 'b' }))).toMatchObject({ status: 404 })
    const gone = connect({ url: 'http://127.0.0.1:1' })
    expect(await refusal(gone.profile())).toMatchObject({
      type: NO_ANSWER,
      status: 0,
      cause: expect.any(Error),
    })
  })
})

describe('a lost answer', () => {
  /** What a client does within three days. Each step is taken again until it is answered, as a user does. */
  async function live(client: ReturnType<typeof connect>, user: TestUser) {
    const again = async (step: () => Promise<unknown>) => {
      for (let attempt = 0; attempt < 4; attempt++) {
        const error = await step().then(
          () => undefined,
          (thrown) => thrown,
        )
        if (!error) return
        if (error.type !== NO_ANSWER && !(error instanceof TypeError)) throw error
        pass(1_500)
      }
      expect.unreachable('It was never answered')
    }
    await again(() => client.logIn({ username: user.email, password: PASSWORD }))
    for (let day = 0; day < 3; day++) {
      await again(() => client.profile())
      pass(24 * HOUR_MS)
    }
    await again(() => client.fetch(`${url}/profile`).then((response) => response.json()))
    pass(15_000)
    await again(() => client.profile())
    const { user: present } = client
    await again(() => client.logOut())
    return present
  }

  it('ends no session, whichever answer of the client it is', async () => {
    const user = await aUser(app)
    const count = async (lost: number) => {
      let sent = 0
      const client = connect({
        fetch: async (request) => {
          const response = await fetch(request)
          if (sent++ !== lost) return response
          await response.arrayBuffer()
          throw new TypeError('fetch failed')
        },
      })
      expect((await live(client, user).catch((error) => error))?.userid, `answer ${lost} was lost`).toBe(
        user.userid,
      )
      expect(client.changes.filter((change) => String(change).includes('ended'))).toEqual([])
      return sent
    }
    const all = await count(-1)
    expect(all).toBeGreaterThan(8)
    for (let lost = 0; lost < all; lost++) await count(lost)
    expect(app.logLines.filter((line) => line.includes('token.reused'))).toEqual([])
  })
})
