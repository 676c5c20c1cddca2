import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { generatePrivateKey } from '@latchkey/shared/secrets/private-key.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { addressOf, type Service, startAuthApiProcess } from '@latchkey/test-support/auth-api-process.ts'
import { queueUrl } from '@latchkey/test-support/engine.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { createRemoteJWKSet, customFetch, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bearer } from './support/start-app.ts'

const ISSUER = 'https://login.example.com'
const CLIENTS = 4
/** The time for which a verifier keeps the keys, in place of ten minutes. */
const KEPT_MS = 2_000
/** Tokens live until the next step but one, in place of an hour, and can be refreshed all the time. */
const LIFETIME_SECONDS = 20

let database: TestDatabase
let user: TestUser
let queue: string
beforeAll(async () => {
  database = await createTestDatabase()
  queue = await queueUrl()
  user = await aUser({ users: createUserRepository(database.db) })
})
afterAll(() => database[Symbol.asyncDispose]())

const [SECRET, FIRST, SECOND] = [
  randomBytes(64).toString('base64'),
  generatePrivateKey('ed25519'),
  generatePrivateKey('es256'),
]
const EDDSA = { JWT_ALGORITHM: 'EdDSA', JWT_PRIVATE_KEY: FIRST }
const ES256 = { JWT_ALGORITHM: 'ES256', JWT_PRIVATE_KEY: SECOND }
/** The steps of docs/how-to/rotate-a-secret.md, one after the other, and what each one waits for. */
const STEPS: { settings: Record<string, string>; signs: string; waitsFor?: 'verifiers' | 'tokens' }[] = [
  { settings: { JWT_SECRET: SECRET }, signs: 'HS512' },
  { settings: { JWT_SECRET: SECRET, JWT_PRIVATE_KEY_NEXT: FIRST }, signs: 'HS512', waitsFor: 'verifiers' },
  { settings: { JWT_SECRET: SECRET, ...EDDSA }, signs: 'EdDSA', waitsFor: 'tokens' },
  { settings: EDDSA, signs: 'EdDSA' },
  { settings: { ...EDDSA, JWT_PRIVATE_KEY_NEXT: SECOND }, signs: 'EdDSA', waitsFor: 'verifiers' },
  { settings: { ...ES256, JWT_PRIVATE_KEY_PREVIOUS: FIRST }, signs: 'ES256', waitsFor: 'tokens' },
  { settings: ES256, signs: 'ES256' },
]

/** Two replicas, each reached only while it is ready, as behind a proxy. */
async function startReplicas(first: Record<string, string>) {
  const stack = new AsyncDisposableStack()
  const ready: { address: string; service: Service }[] = []
  async function start(settings: Record<string, string>) {
    const service = stack.use(
      startAuthApiProcess({
        DATABASE_URL: database.url,
        QUEUE_URL: queue,
        HASH_CONCURRENCY: '1',
        PASSWORD_HASH: 'sha1',
        PASSWORD_HASH_ACCEPTED: 'sha1',
        API_SERVER: ISSUER,
        JWT_SECRET: '',
        RATE_LIMIT_REQUESTS: '0',
        RATE_LIMIT_LOGIN: '0',
        TOKEN_LIFETIME: String(LIFETIME_SECONDS),
        REFRESH_WINDOW: String(LIFETIME_SECONDS - 1),
        ...settings,
      }),
    )
    ready.push({ address: await addressOf(service), service })
  }
  await start(first)
  await start(first)
  let turn = 0
  return {
    ask(path: string, init?: RequestInit): Promise<Response> {
      turn += 1
      return fetch(`${ready[turn % ready.length]?.address}${path}`, init)
    },
    async replaceAll(settings: Record<string, string>): Promise<void> {
      for (const former of [...ready]) {
        await start(settings)
        ready.splice(ready.indexOf(former), 1)
        // The requests that were sent to it before are answered.
        await wait(500)
        former.service.process.kill('SIGTERM')
        expect(await former.service.exited).toBe(0)
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
type Replicas = Awaited<ReturnType<typeof startReplicas>>

/** Clients with a session that they refresh, and which log in again and again. */
function startClients({ ask }: Replicas) {
  const keys = createRemoteJWKSet(new URL(`${ISSUER}/.well-known/jwks.json`), {
    cacheMaxAge: KEPT_MS,
    // A verifier that asks again for an unknown kid would hide that a key was not published in time.
    cooldownDuration: Number.MAX_SAFE_INTEGER,
    [customFetch]: () => ask('/.well-known/jwks.json'),
  })
  const failures: string[] = []
  const algorithms = new Map<string, number>()
  let [isEnding, refreshes, verified] = [false, 0, 0]

  async function expectStatus(path: string, init: RequestInit): Promise<{ token?: string }> {
    const response = await ask(path, init)
    const text = await response.text()
    if (response.status !== 200) failures.push(`${path} ${response.status} ${text}`)
    return response.status === 200 ? JSON.parse(text) : {}
  }
  async function logIn(): Promise<string> {
    const { token } = await expectStatus('/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: user.email, password: PASSWORD }),
    })
    if (!token) throw new Error(failures.at(-1))
    return token
  }

  /** Uses a token on any replica, and in another service. */
  async function use(token: string): Promise<void> {
    await expectStatus('/sampleprotected/ping', { headers: bearer(token) })
    const { alg = '' } = decodeProtectedHeader(token)
    algorithms.set(alg, (algorithms.get(alg) ?? 0) + 1)
    if (alg === 'HS512') return
    await jwtVerify(token, keys, { issuer: ISSUER, algorithms: ['EdDSA', 'ES256'] }).then(
      () => (verified += 1),
      (error) => failures.push(`verified elsewhere: ${error}`),
    )
  }

  async function refresh(token: string): Promise<string> {
    refreshes += 1
    const refreshed = await expectStatus('/refreshtoken', { method: 'POST', headers: bearer(token) })
    return refreshed.token ?? logIn()
  }

  async function run(): Promise<void> {
    let token = await logIn()
    while (!isEnding) {
      await use(token)
      await use(await logIn())
      // In the second half of its life.
      const leftMs = (decodeJwt(token).exp ?? 0) * 1000 - Date.now()
      if (leftMs < (LIFETIME_SECONDS * 1000) / 2) token = await refresh(token)
      await wait(50)
    }
  }
  const running = Promise.all(Array.from({ length: CLIENTS }, run))
  return {
    failures,
    async stop() {
      isEnding = true
      await running
      return { algorithms, refreshes, verified }
    },
  }
}

it('goes from HS512 to a key and from key to key under load, and logs nobody out', async () => {
  const [first, ...others] = STEPS
  await using replicas = await startReplicas(first?.settings ?? {})
  const clients = startClients(replicas)
  for (const { settings, signs, waitsFor } of others) {
    await replicas.replaceAll(settings)
    if (waitsFor === 'verifiers') await wait(2 * KEPT_MS)
    if (waitsFor === 'tokens') await wait(LIFETIME_SECONDS * 1000)
    expect(clients.failures, `${signs}: ${Object.keys(settings)}`).toEqual([])
  }
  const { algorithms, refreshes, verified } = await clients.stop()
  expect(clients.failures).toEqual([])
  expect([...algorithms.keys()].toSorted()).toEqual(['ES256', 'EdDSA', 'HS512'])
  console.log(`${[...algorithms]} uses, ${refreshes} refreshes, ${verified} verified elsewhere, none refused`)
})
