import { randomBytes } from 'node:crypto'
import { generatePrivateKey } from '@latchkey/shared/secrets/private-key.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aToken, bearer, codeTo, logIn, startApp, type TestApp } from './support/start-app.ts'

const [OLD, NEW] = [randomBytes(64).toString('base64'), randomBytes(64).toString('base64')]
const [KEY, NEXT] = [generatePrivateKey('ed25519'), generatePrivateKey('es256')]
const EDDSA = { JWT_ALGORITHM: 'EdDSA', JWT_PRIVATE_KEY: KEY }
const ES256 = { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: NEXT, JWT_SECRET: '' }
/** The steps of docs/how-to/rotate-a-secret.md for a cluster, whose replicas restart one by one. */
const ROTATIONS: Record<string, Record<string, string>[]> = {
  'from secret to secret': [
    { JWT_SECRET: OLD },
    { JWT_SECRET: OLD, JWT_SECRET_PREVIOUS: NEW },
    { JWT_SECRET: NEW, JWT_SECRET_PREVIOUS: OLD },
    { JWT_SECRET: NEW },
  ],
  'from HS512 to EdDSA': [
    { JWT_SECRET: OLD },
    { JWT_SECRET: OLD, JWT_PRIVATE_KEY_NEXT: KEY },
    { JWT_SECRET: OLD, ...EDDSA },
    { JWT_SECRET: '', ...EDDSA },
  ],
  'from key to key': [
    { JWT_SECRET: '', ...EDDSA },
    { JWT_SECRET: '', ...EDDSA, JWT_PRIVATE_KEY_NEXT: NEXT },
    { ...ES256, JWT_PRIVATE_KEY_PREVIOUS: KEY },
    ES256,
  ],
}

const password = 'N3w-p4ssw0rd!'

/** One replica at each step. */
async function startReplicas(database: TestDatabase, steps: Record<string, string>[]) {
  const replicas = new AsyncDisposableStack()
  const apps: TestApp[] = []
  for (const settings of steps) apps.push(replicas.use(await startApp({ settings, database })))
  const [first] = apps
  if (!first) throw new Error('no replica')
  return { apps, first, [Symbol.asyncDispose]: () => replicas.disposeAsync() }
}

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

describe.each(Object.entries(ROTATIONS))('rotating %s in three steps', (_, steps) => {
  let replicas: Awaited<ReturnType<typeof startReplicas>>
  beforeAll(async () => {
    replicas = await startReplicas(database, steps)
  })
  afterAll(() => replicas[Symbol.asyncDispose]())

  it('ends no session that lasts, also after a second rotation to secrets that nobody has seen', async () => {
    const { apps, first } = replicas
    const { email } = await aUser(first)
    const login = { username: email, password: PASSWORD, remember: true }
    let answer = (await first.server.inject({ method: 'POST', url: '/login', payload: login })).json()
    const secret = randomBytes(64).toString('base64')
    await using later = await startApp({ settings: { JWT_SECRET: secret }, database })
    for (const { server } of [...apps, later]) {
      const payload = { refresh_token: answer.refresh_token }
      const response = await server.inject({ method: 'POST', url: '/refreshtoken', payload })
      expect(response.statusCode, response.body).toBe(200)
      answer = response.json()
      const headers = bearer(answer.token)
      expect((await server.inject({ url: '/sampleprotected/ping', headers })).statusCode).toBe(200)
    }
  })

  it('leaves no moment at which one replica refuses what another one issues', async () => {
    const { apps, first } = replicas
    const user = await aUser(first)
    const accepts = async ({ server }: TestApp, token: string) =>
      (await server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode

    for (const [index, app] of apps.entries()) {
      const token = await aToken(app, user)
      const neighbours = apps.slice(Math.max(0, index - 1), index + 2)
      expect(await Promise.all(neighbours.map((each) => accepts(each, token)))).toEqual(
        neighbours.map(() => 200),
      )
    }
    const oldToken = await aToken(first, user)
    expect(await Promise.all(apps.map((app) => accepts(app, oldToken)))).toEqual([200, 200, 200, 401])
  })

  it('lets the replica of either step go on with a reset that the other one began', async () => {
    const { apps, first } = replicas
    const { email } = await aUser(first)
    const post = async ({ server }: TestApp, step: string, payload: object) => {
      const response = await server.inject({ method: 'POST', url: `/login/${step}`, payload })
      expect(response.statusCode, `${step}: ${response.body}`).toBe(200)
      return response.json().token as string
    }

    for (const index of [0, 1, 2]) {
      for (const [before, after] of [
        [apps[index], apps[index + 1]],
        [apps[index + 1], apps[index]],
      ]) {
        if (!before || !after) throw new Error('no replica')
        const token = await post(before, 'resetrequest', { email })
        await post(after, 'confirmcode', {
          email,
          code: await codeTo(before, email, 'password-reset'),
          token,
        })
        await post(before, 'resetpassword', { email, token, password })
        const withoutToken = await post(before, 'resetrequest', { email })
        const fresh = await post(after, 'confirmcode', {
          email,
          code: await codeTo(before, email, 'password-reset'),
        })
        expect(fresh).not.toBe(withoutToken)
        await post(before, 'resetpassword', { email, token: fresh, password })
        expect((await logIn(after, email, password)).statusCode).toBe(200)
      }
    }
  })
})
