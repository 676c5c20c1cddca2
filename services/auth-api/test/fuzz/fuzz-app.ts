import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import fc from 'fast-check'
import { expect } from 'vitest'
import {
  aToken,
  aUser,
  PASSWORD,
  signToken,
  startApp,
  type TestApp,
  type TestUser,
} from '../support/start-app.ts'
import { type Operation, parseDocument } from './api-document.ts'
import { type FuzzedRequest, fuzzedRequests, type KnownValues } from './fuzzed-request.ts'
import { exchangeRaw, framings, type RawResponse } from './raw-exchange.ts'

/** Statuses of a path or method without an operation: the page of the documentation answers 200, and `/docs` redirects to it. */
const UNDECLARED_STATUSES = [200, 302, 400, 404, 405, 413, 415]

/** What no answer and no log line may contain: a stack, SQL, or an address of ours. */
const INTERNALS =
  /\n\s+at |node_modules|\.ts:\d|\bselect [\w.*]+,? .*\bfrom\b|insert into|postgres(ql)?:\/\/|ECONN/i

/** Users whose tokens a request may end. */
const EXPENDABLE = 10
/** Resets, each of a user: every second one is confirmed. */
const RESETS = 10
/** Sign-ups whose codes are known. */
const SIGN_UPS = 5
/** Requests in flight at the same time. */
const BATCH = 50
/** Requests generated at once for the same users, whose sessions and resets they end. */
const SAMPLE = 1_000

export interface FuzzSummary {
  /** Answers by their status. */
  statuses: Record<number, number>
  /** The paths of operations that succeeded. */
  succeeded: Set<string>
}

/** The seed and the number of requests, from the environment: the same seed sends the same requests. */
export const fuzzOptions = (requests: number) => ({
  seed: Number(process.env.FUZZ_SEED ?? Date.now() % 1e9),
  requests: Number(process.env.FUZZ_REQUESTS ?? requests),
})

/** Production's caches and limits, with the limits high enough that the requests reach the handlers. */
export const startFuzzedApp = (): Promise<TestApp> =>
  startApp({
    settings: {
      REVOCATION_CACHE: '5',
      RATE_LIMIT_REQUESTS: '1000000',
      RATE_LIMIT_LOGIN: '1000000',
      RATE_LIMIT_RESET: '1000000',
      TRUST_PROXY: '127.0.0.1',
      CORS_ORIGINS: 'https://app.example.com',
      SIGN_UP: 'on',
    },
  })

/** Sends requests of one seed, and checks each answer and each log line; throws at the first that is wrong. */
export async function createFuzz(app: TestApp) {
  const operations = parseDocument((await app.server.inject({ url: '/openapi.json' })).json())
  const { port } = new URL(await app.server.listen({ port: 0, host: '127.0.0.1' }))

  return async ({ seed, requests: count }: { seed: number; requests: number }): Promise<FuzzSummary> => {
    const summary: FuzzSummary = { statuses: {}, succeeded: new Set() }
    for (let made = 0; made < count; made += SAMPLE) {
      const known = await knownValues(app)
      const secrets = [
        PASSWORD,
        ...known.tokens,
        ...known.records.map(({ token }) => token),
        ...secretsOf(app),
      ]
      const options = { seed: seed + made, numRuns: Math.min(SAMPLE, count - made) }
      for (const batch of batchesOf(fc.sample(inputsFor(operations, known), options))) {
        const answered = await Promise.all(
          batch.map((input) =>
            Buffer.isBuffer(input)
              ? sendRaw(Number(port), input, secrets)
              : send(app, input, operations, secrets),
          ),
        )
        for (const answer of answered.flat()) countAnswer(summary, answer)
        // They would be the memory that grows.
        checkLog(app.logLines.splice(0), secrets)
        app.queued.clear()
      }
    }
    return summary
  }
}

interface Answered {
  status: number
  /** Of an operation. */
  path?: string | undefined
}

function countAnswer({ statuses, succeeded }: FuzzSummary, { status, path }: Answered): void {
  statuses[status] = (statuses[status] ?? 0) + 1
  if (path && status < 300) succeeded.add(path)
}

const inputsFor = (operations: readonly Operation[], known: KnownValues) =>
  fc.oneof(
    { weight: 9, arbitrary: fuzzedRequests(operations, known) },
    // Each is a connection of its own.
    { weight: 1, arbitrary: framings() },
  )

function* batchesOf<Input>(sample: readonly Input[]) {
  for (let start = 0; start < sample.length; start += BATCH) yield sample.slice(start, start + BATCH)
}

async function knownValues(app: TestApp): Promise<KnownValues> {
  const [user, admin, other] = [await aUser(app), await aUser(app, { role: 'admin' }), await aUser(app)]
  const resets = Array.from({ length: RESETS }, async (_, index) =>
    aReset(app, await aUser(app), index % 2 === 0),
  )
  const records = await Promise.all([...resets, ...Array.from({ length: SIGN_UPS }, () => aSignUp(app))])
  const tokens = [
    await aToken(app, user),
    await aToken(app, admin),
    await signToken(app, user, { claims: { exp: 1 } }),
  ]
  const nearlyOver = { claims: { exp: Math.floor(Date.now() / 1000) + 200 } }
  const refreshableTokens = await Promise.all(
    Array.from({ length: EXPENDABLE }, async () => signToken(app, await aUser(app), nearlyOver)),
  )
  const expendableTokens = await Promise.all(
    Array.from({ length: EXPENDABLE }, async () => aToken(app, await aUser(app))),
  )
  const email = [user.email, admin.email, other.email, 'nobody@example.com']
  return {
    tokens,
    expendableTokens,
    refreshableTokens,
    records,
    members: {
      email,
      username: [...email, user.username, 'newcomer'],
      currentPassword: [PASSWORD, 'wrong'],
      password: [PASSWORD, 'An0ther-Good!Pass', 'short'],
      token: records.map(({ token }) => token),
      code: ['123456', '000000'],
      name: ['Ada', 'Ünïcödé'],
      language: ['en', 'fr'],
    },
  }
}

/** What the owner of the mailbox has: the code is confirmed, or not yet. */
async function aReset(app: TestApp, { email }: TestUser, isConfirmed: boolean) {
  const post = async (url: string, payload: object) =>
    (await app.server.inject({ method: 'POST', url, payload })).json()
  const { token } = await post('/login/resetrequest', { email })
  const code = await codeTo(app, email)
  if (isConfirmed) await post('/login/confirmcode', { email, code, token })
  return { email, code, token, password: 'An0ther-Good!Pass' }
}

async function aSignUp(app: TestApp) {
  const username = crypto.randomUUID().slice(0, 18)
  const [email, password] = [`${username}@example.com`, 'An0ther-Good!Pass']
  const payload = { email, username, password }
  const { token } = (await app.server.inject({ method: 'POST', url: '/signup', payload })).json()
  return { email, code: await codeTo(app, email), token, password }
}

async function codeTo(app: TestApp, email: string): Promise<string> {
  const findMail = () => [...app.queued.values()].find(({ to }) => to === email)
  await expect.poll(findMail, { interval: 5 }).toBeDefined()
  return String((await createSealer(app.config.mail.secret).open(findMail()?.variables ?? '')).code)
}

const secretsOf = ({ config }: TestApp): string[] =>
  [config.tokens.secret, config.mail.secret].map((bytes) => Buffer.from(bytes).toString('base64'))

async function send(
  app: TestApp,
  request: FuzzedRequest,
  operations: readonly Operation[],
  secrets: readonly string[],
): Promise<Answered[]> {
  const { method, url, headers, body } = request
  const {
    statusCode,
    headers: given,
    body: text,
  } = await app.server.inject({
    // inject types the methods of Node's own list only.
    method: method as 'GET',
    url,
    headers,
    ...(body ? { payload: body } : {}),
  })
  const answer = {
    status: statusCode,
    headers: new Headers(Object.entries(given).map(([name, value]) => [name, String(value)])),
    body: text,
  }
  const operation = operations.find(
    (each) =>
      each.path === url.split('?', 1)[0] &&
      (each.method === method || (method === 'HEAD' && each.method === 'GET')),
  )
  const shown = JSON.stringify({ ...request, body: body?.toString('latin1'), answer: [statusCode, text] })
  checkStatus(answer.status, operation, shown)
  checkAnswer(answer, secrets, shown)
  if (operation && method !== 'HEAD') checkSchema(answer, operation, shown)
  return [{ status: answer.status, path: operation?.path }]
}

async function sendRaw(port: number, bytes: Buffer, secrets: readonly string[]): Promise<Answered[]> {
  const shown = JSON.stringify(bytes.toString('latin1'))
  const answers = await exchangeRaw(port, bytes)
  for (const answer of answers) {
    expect(answer.status, shown).toBeLessThan(500)
    checkAnswer(answer, secrets, shown)
  }
  return answers.map(({ status }) => ({ status }))
}

function checkStatus(status: number, operation: Operation | undefined, shown: string): void {
  expect(operation ? [...operation.responses.keys()] : UNDECLARED_STATUSES, shown).toContain(status)
  if (status >= 500) expect(status, shown).toBe(503)
}

/** What holds for each answer, whatever was asked. */
function checkAnswer(
  { status, headers, body }: RawResponse,
  secrets: readonly string[],
  shown: string,
): void {
  expect(headers.get('x-request-id'), shown).toMatch(/^[\w.-]{8,64}$/)
  expect(headers.get('x-content-type-options'), shown).toBe('nosniff')
  if (status < 400 || body === '') return
  expect(headers.get('content-type'), shown).toBe('application/problem+json')
  expect(JSON.parse(body), shown).toMatchObject({
    status,
    type: expect.stringMatching(/^urn:latchkey:problem:[a-z-]+$/),
    title: expect.stringMatching(/./),
    instance: headers.get('x-request-id'),
  })
  expect(body, shown).not.toMatch(INTERNALS)
  expect(
    secrets.filter((secret) => body.includes(secret)),
    shown,
  ).toEqual([])
}

function checkSchema(
  { status, headers, body }: RawResponse,
  { responses, problems }: Operation,
  shown: string,
): void {
  if (status >= 400) expect(problems.get(status), shown).toContain(JSON.parse(body).type)
  const declared = responses.get(status)
  const type = headers.get('content-type')?.split(';', 1)[0] ?? ''
  const schema = declared?.get(type)
  if (status === 204) expect(body, shown).toBe('')
  else if (declared) expect(schema?.safeParse(JSON.parse(body)), shown).toMatchObject({ success: true })
}

function checkLog(lines: readonly string[], secrets: readonly string[]): void {
  const text = lines.join('')
  expect(text).not.toMatch(/"level":"(error|fatal)"/)
  expect(text).not.toMatch(INTERNALS)
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([])
}
