import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { codeAt, enrol, factorSettings, post } from './support/factors.ts'
import { bearer, codeTo, softDelete, startApp, type TestApp } from './support/start-app.ts'

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000]
const NEW_PASSWORD = 'N3w-p4ssw0rd!'
/** REVOCATION_CACHE as production has it. */
const CACHE_MS = 5_000

let database: TestDatabase
let app: TestApp
let replica: TestApp
beforeAll(async () => {
  database = await createTestDatabase()
  const settings = factorSettings({ ACCOUNT_DELETION: 'on', EMAIL_CHANGE: 'immediate' })
  app = await startApp({ database, settings })
  const secret = Buffer.from(app.config.tokens.secret).toString('base64')
  replica = await startApp({ database, settings: { ...settings, JWT_SECRET: secret } })
})
/** The time at which a case begins, and the present one. */
let [start, now] = [0, 0]
afterEach(() => setClock(undefined))
afterAll(async () => {
  await replica[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

function setClock(time: number | undefined): void {
  now = time ?? 0
  for (const each of [app, replica]) each.setClock(time)
}

interface Session {
  token: string
  refresh_token: string
}
interface Given {
  user: TestUser
  /** The session that sends the request of the case. */
  own: Session
  /** Another one of the same user. */
  other: Session
}

async function aSession(user: TestUser): Promise<Session> {
  const response = await post(app, '/login', { username: user.email, password: PASSWORD, remember: true })
  expect(response.statusCode, response.body).toBe(200)
  return response.json()
}
const exchange = (refresh_token: string, on = app) => post(on, '/refreshtoken', { refresh_token })
const ping = async ({ token }: Session, on = app) =>
  (await on.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode
const put = (url: string, payload: object, token: string) =>
  app.server.inject({ method: 'PUT', url, payload, headers: bearer(token) })

async function succeed(sent: Promise<{ statusCode: number; body: string }>): Promise<void> {
  const { statusCode, body } = await sent
  expect(statusCode, body).toBeLessThan(300)
}

/** What admins do to the tokens of a user: `Users::revoke`, `setRole`, `setPassword`, `ban` and `removeFactors`. */
const revokeAll = ({ userid }: TestUser) =>
  database.db.transaction(async (transaction) => {
    const users = createUserRepository(transaction)
    const found = await users.lockAndFind(userid)
    if (found) await revokeUserTokens(users, found, start)
  })

interface End {
  /** As the table of security.md names it. */
  by: string
  ends: 'none' | 'own' | 'other' | 'both'
  end: (given: Given) => Promise<unknown>
  /** The time for which an access token may be accepted after it. Default: REVOCATION_CACHE. */
  acceptedMs?: number
}

const ENDS: End[] = [
  {
    by: 'logout',
    ends: 'own',
    end: ({ own }) => succeed(post(app, '/logout', {}, own.token)),
  },
  {
    by: 'logout by the refresh token, or by the cookie',
    ends: 'own',
    end: ({ own: { refresh_token } }) => succeed(post(app, '/logout', { refresh_token })),
  },
  {
    by: 'logout everywhere',
    ends: 'both',
    end: ({ own }) => succeed(post(app, '/logout', { everywhere: true }, own.token)),
  },
  {
    by: '`DELETE /sessions/{id}`',
    ends: 'other',
    async end({ own, other }) {
      const { sessions } = (
        await app.server.inject({ url: '/sessions', headers: bearer(other.token) })
      ).json()
      const url = `/sessions/${sessions.find(({ current }: { current: boolean }) => current).id}`
      await succeed(app.server.inject({ method: 'DELETE', url, headers: bearer(own.token) }))
    },
  },
  {
    by: 'change of the password: the device gets a new session',
    ends: 'both',
    async end({ own }) {
      const change = { current_password: PASSWORD, password: NEW_PASSWORD }
      const changed = await put('/profile/password', change, own.token)
      expect(changed.statusCode, changed.body).toBe(200)
      expect((await exchange(changed.json().refresh_token)).statusCode).toBe(200)
    },
  },
  {
    by: 'reset of the password',
    ends: 'both',
    async end({ user: { email } }) {
      const { token } = (await post(app, '/login/resetrequest', { email })).json()
      await post(app, '/login/confirmcode', {
        email,
        token,
        code: await codeTo(app, email, 'password-reset'),
      })
      await succeed(post(app, '/login/resetpassword', { email, token, password: NEW_PASSWORD }))
    },
  },
  {
    by: 'change of the e-mail, once it is confirmed',
    ends: 'other',
    end: ({ user, own }) => succeed(put('/profile', { email: `new-${user.email}` }, own.token)),
  },
  {
    by: 'first second factor',
    ends: 'other',
    end: ({ own }) => enrol(app, own.token, start),
  },
  {
    by: 'deletion by the owner',
    ends: 'both',
    end: ({ own }) => succeed(post(app, '/profile/delete', { current_password: PASSWORD }, own.token)),
  },
  {
    by: 'deletion by an admin, or by SQL',
    ends: 'both',
    end: ({ user }) => softDelete(app, user),
  },
  {
    by: '`Users::revoke`, `setRole`, `setPassword`, `ban`, `removeFactors`',
    ends: 'both',
    end: ({ user }) => revokeAll(user),
  },
  {
    by: 'reuse of a replaced token',
    ends: 'own',
    async end({ own }) {
      const next = (await exchange(own.refresh_token)).json()
      expect(await ping(next)).toBe(200)
      setClock(start + 10_000)
      expect((await exchange(own.refresh_token)).statusCode).toBe(401)
    },
  },
  {
    by: '`SESSION_IDLE` without a refresh',
    ends: 'both',
    end: async () => setClock(start + 30 * DAY_MS + 1_000),
  },
  {
    by: '`SESSION_LIFETIME` after the login, however it is used',
    ends: 'both',
    acceptedMs: HOUR_MS,
    async end(given) {
      for (let day = 25; day < 90; day += 25) {
        setClock(start + day * DAY_MS)
        for (const session of [given.own, given.other])
          Object.assign(session, (await exchange(session.refresh_token)).json())
      }
      setClock(start + 90 * DAY_MS - 1_001)
      for (const session of [given.own, given.other]) {
        const last = await exchange(session.refresh_token)
        expect(last.statusCode, last.body).toBe(200)
        Object.assign(session, last.json())
      }
      setClock(start + 90 * DAY_MS)
    },
  },
  {
    by: '`update user_session set refresh_hash = null`, of the refresh tokens',
    ends: 'both',
    acceptedMs: HOUR_MS,
    end: () => database.db.execute({ name: 'test-end', text: 'update user_session set refresh_hash = null' }),
  },
  {
    by: 'step-up of the login, a further second factor, or the removal of one',
    ends: 'none',
    async end(given) {
      const { own } = given
      await succeed(post(app, '/login/stepup', { current_password: PASSWORD }, own.token))
      const { token, secret } = await enrol(app, own.token, start)
      given.other = await aSessionWithFactor(given.user, secret)
      const headers = bearer(token)
      const { factors } = (await app.server.inject({ url: '/profile/factors', headers })).json()
      const url = `/profile/factors/${factors[0].id}`
      await succeed(app.server.inject({ method: 'DELETE', url, headers }))
    },
  },
]

async function aSessionWithFactor({ email }: TestUser, secret: string): Promise<Session> {
  setClock(start + 60_000)
  const { challenge } = (await post(app, '/login', { username: email, password: PASSWORD })).json()
  const code = codeAt(secret, start + 60_000)
  return (await post(app, '/login/secondfactor', { challenge, code, remember: true })).json()
}

/** Sets the clocks, and begins two sessions of a user. */
async function begin(): Promise<Given> {
  start = Math.ceil(Date.now() / 1000) * 1000
  setClock(start)
  const user = await aUser(app)
  return { user, own: await aSession(user), other: await aSession(user) }
}

describe.each(ENDS)('$by', ({ ends, end, acceptedMs = CACHE_MS }) => {
  const expected = (session: 'own' | 'other') => (ends === 'both' || ends === session ? 401 : 200)

  it.each(['own', 'other'] as const)(`ends ${ends}: the refresh token of the %s session`, async (which) => {
    const given = await begin()
    await end(given)
    const session = given[which]
    for (const on of [app, replica]) {
      const answer = await exchange(session.refresh_token, on)
      expect(answer.statusCode, answer.body).toBe(expected(which))
      if (answer.statusCode === 401) expect(answer.json().type).toBe('urn:latchkey:problem:invalid-token')
    }
  })

  it.each(['own', 'other'] as const)(`ends ${ends}: the access token of the %s session`, async (which) => {
    const given = await begin()
    // A replica remembers that the token is valid.
    for (const session of [given.own, given.other]) expect(await ping(session, replica)).toBe(200)
    await end(given)
    setClock(now + acceptedMs + 1)
    expect(await ping(given[which], replica)).toBe(expected(which))
  })
})

describe('a session that has ended', () => {
  it.each(ENDS.filter(({ ends }) => ends !== 'none'))(
    'by $by stays ended once every access token has expired',
    async ({ ends, end }) => {
      const given = await begin()
      await end(given)
      // What token_revocation knows of it may be deleted by now.
      await database.db.execute({ name: 'test-purge', text: 'delete from token_revocation' })
      const session = ends === 'other' ? given.other : given.own
      expect((await exchange(session.refresh_token)).statusCode).toBe(401)
      setClock(now + 2 * HOUR_MS)
      expect((await exchange(session.refresh_token)).statusCode).toBe(401)
    },
  )
})

it('security.md has the same table', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/explanation/security.md'), 'utf8')
  const [, table = ''] = page.split('### What ends a session')
  const [section = ''] = table.split('\n#')
  const rows = [...section.matchAll(/^\| ([^|]+) \| (none|own|other|both) \|$/gm)].map(([, by, ends]) => ({
    by,
    ends,
  }))
  expect(rows).toEqual(ENDS.map(({ by, ends }) => ({ by, ends })))
})
