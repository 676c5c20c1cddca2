import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createClient, LatchkeyError, NO_ANSWER } from '../src/client.js'
import { createFakeServer, problem, type Sent } from './fake-server.ts'

const URL_OF_API = 'https://id.example.com/'
const API = 'https://api.example.com'
const CREDENTIALS = { username: 'ada@example.com', password: 'right' }
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** What a browser has beyond Node, for one tab: `shown` is its visibility. */
function stubBrowser() {
  const page = { visibilityState: 'visible' }
  const window = new EventTarget()
  const items = new Map<string, string>()
  const storage = {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
    removeItem: (key: string) => void items.delete(key),
  }
  vi.stubGlobal('document', page)
  // The locks of Node wait by its own clock; those of Chromium have tests of their own.
  vi.stubGlobal('navigator', {})
  vi.stubGlobal('localStorage', storage)
  vi.stubGlobal('addEventListener', window.addEventListener.bind(window))
  return {
    items,
    window,
    show: (state: string) => {
      page.visibilityState = state
      window.dispatchEvent(new Event('visibilitychange'))
    },
  }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

type Given = Partial<Parameters<typeof createClient>[0]> & { lifetimeSeconds?: number }

function setUp({ lifetimeSeconds = 3600, ...options }: Given = {}) {
  const server = createFakeServer({ lifetimeSeconds })
  const client = createClient({
    url: URL_OF_API,
    session: 'memory',
    origins: [API],
    fetch: server.fetch,
    ...options,
  })
  return { server, client }
}

async function setUpLoggedIn(given: Given & { remember?: boolean } = {}) {
  const { remember = true, ...options } = given
  const { server, client } = setUp(options)
  await client.logIn({ ...CREDENTIALS, remember })
  server.sent.length = 0
  return { server, client }
}

const refusal = (promise: Promise<unknown>): Promise<LatchkeyError> =>
  promise.then(
    () => expect.unreachable('It was not refused'),
    (error) => error,
  )

describe('a login', () => {
  it.each([
    { session: 'cookie', remember: 'cookie', credentials: 'include' },
    { session: 'storage', remember: true, credentials: 'omit' },
    { session: 'memory', remember: true, credentials: 'omit' },
  ] as const)('asks for what the session $session needs', async ({ session, remember, credentials }) => {
    stubBrowser()
    const { server, client } = setUp({ session })
    expect(await client.logIn(CREDENTIALS)).toEqual({ userid: 'u1', name: 'Ada', role: 'user' })
    expect(server.sent).toMatchObject([{ method: 'POST', body: { ...CREDENTIALS, remember }, credentials }])
    expect(client.user?.name).toBe('Ada')
  })

  it('asks for nothing where it is not to be remembered', async () => {
    const { server, client } = setUp()
    await client.logIn({ ...CREDENTIALS, remember: false })
    expect(server.sent[0]?.body).toEqual(CREDENTIALS)
  })

  it('tells why it was refused by one class', async () => {
    const { server, client } = setUp()
    const wrong = await refusal(client.logIn({ ...CREDENTIALS, password: 'wrong' }))
    expect(wrong).toBeInstanceOf(LatchkeyError)
    expect(wrong).toMatchObject({ type: 'urn:latchkey:problem:invalid-credentials', status: 401 })
    const answers = [
      () => problem(403, 'second-factor-required', {}, { challenge: 'c', factors: ['totp'] }),
      () =>
        problem(
          400,
          'invalid-input',
          {},
          { detail: 'D', errors: [{ path: 'username', message: 'is required' }] },
        ),
      () => problem(429, 'rate-limited', { 'retry-after': '7' }),
      () => problem(503, 'unavailable', { 'retry-after': new Date(Date.now() + 9_000).toUTCString() }),
      () => new Response('<html>', { status: 502 }),
      () => new Response('<html>', { status: 200 }),
      () => Promise.reject(new TypeError('fetch failed')),
    ]
    const refused = []
    for (const answer of answers) {
      server.intercept = answer
      refused.push(await refusal(client.logIn(CREDENTIALS)))
    }
    const errors = [{ path: 'username', message: 'is required' }]
    expect(refused).toMatchObject([
      { type: 'urn:latchkey:problem:second-factor-required', problem: { challenge: 'c', factors: ['totp'] } },
      { status: 400, message: 'D', detail: 'D', errors },
      { status: 429, retryAfter: 7, errors: [] },
      { status: 503, retryAfter: 9 },
      { type: NO_ANSWER, status: 502, retryAfter: undefined },
      { type: NO_ANSWER, status: 0 },
      { type: NO_ANSWER, status: 0, cause: expect.any(TypeError) },
    ])
    expect(client.user).toBeUndefined()
  })

  it('refuses a session that it does not know', () => {
    expect(() => setUp({ session: 'local' as 'memory' })).toThrow("choose 'cookie', 'storage' or 'memory'")
  })
})

describe('fetch', () => {
  const authorizations = ({ sent }: { sent: Sent[] }) =>
    sent.map(({ headers }) => headers.has('authorization'))

  it('sends the token to the origins that it was given, and to no other', async () => {
    const { server, client } = await setUpLoggedIn()
    server.intercept = () => new Response('ok')
    for (const url of [
      `${URL_OF_API}profile`,
      `${API}/todos`,
      'https://other.example.com/',
      'http://api.example.com/',
      'https://api.example.com:8443/',
      'https://api.example.com.evil.example/',
      'https://user:api.example.com@evil.example/',
    ])
      await client.fetch(url).catch(() => server.sent.push({ headers: new Headers() } as Sent))
    expect(authorizations(server)).toEqual([true, true, false, false, false, false, false])
  })

  it('keeps the Authorization of the caller', async () => {
    const { server, client } = await setUpLoggedIn()
    server.intercept = () => new Response('ok')
    await client.fetch(`${API}/todos`, { headers: { authorization: 'Basic x' } })
    expect(server.sent[0]?.headers.get('authorization')).toBe('Basic x')
  })

  it('refreshes before the token expires, and not earlier', async () => {
    const { server, client } = await setUpLoggedIn()
    vi.setSystemTime(Date.now() + HOUR_MS - 61_000)
    await client.fetch(`${API}/todos`)
    expect(server.pathsOf()).toEqual(['/todos'])
    vi.setSystemTime(Date.now() + 14_000)
    await client.fetch(`${API}/todos`)
    expect(server.pathsOf()).toEqual(['/todos', '/refreshtoken', '/todos'])
  })

  it('sends a request with its body once more after a 401 that a refresh heals', async () => {
    const { server, client } = await setUpLoggedIn()
    server.intercept = ({ url }) =>
      url.pathname === '/todos' && server.refreshes() === 0 ? problem(401, 'invalid-token') : undefined
    const response = await client.fetch(`${API}/todos`, {
      method: 'POST',
      body: JSON.stringify({ title: 'x' }),
    })
    expect(await response.json()).toEqual({ path: '/todos', body: { title: 'x' } })
    expect(server.pathsOf()).toEqual(['/todos', '/refreshtoken', '/todos'])
  })

  it('refreshes once for a server that refuses each token', async () => {
    const { server, client } = await setUpLoggedIn()
    server.intercept = ({ url }) => (url.pathname === '/todos' ? problem(401, 'invalid-token') : undefined)
    for (let call = 0; call < 5; call++) {
      expect((await client.fetch(`${API}/todos`)).status).toBe(401)
      await vi.advanceTimersByTimeAsync(2_000)
    }
    expect(server.refreshes()).toBe(1)
    expect(client.user).toBeDefined()
  })

  it('lets the user confirm the login once for all requests that need it, and sends them again', async () => {
    const asked: LatchkeyError[] = []
    let isConfirmed = false
    const { server, client } = await setUpLoggedIn({
      onStepUp: async (challenge) => {
        asked.push(challenge)
        await Promise.resolve()
        isConfirmed = true
      },
    })
    server.intercept = () =>
      isConfirmed ? undefined : problem(401, 'insufficient-user-authentication', {}, { max_age: 300 })
    const [own, other] = await Promise.all([client.profile(), client.fetch(`${API}/todos`)])
    expect(own).toEqual({ path: '/profile' })
    expect(other.status).toBe(200)
    expect(asked).toMatchObject([{ problem: { max_age: 300 } }])
    expect(server.refreshes()).toBe(0)
  })

  it('throws what the confirmation throws, and no session ends', async () => {
    const { server, client } = await setUpLoggedIn({ onStepUp: () => Promise.reject(new Error('cancelled')) })
    server.intercept = () => problem(401, 'insufficient-user-authentication')
    await expect(client.profile()).rejects.toThrow('cancelled')
    expect(client.user).toBeDefined()
  })
})

describe('a refresh', () => {
  it.each([
    { session: 'cookie', sends: { body: {}, credentials: 'include' } },
    { session: 'storage', sends: { body: { refresh_token: 'r2' } } },
    { session: 'memory', sends: { body: { refresh_token: 'r2' } } },
  ] as const)('works at any time: $session', async ({ session, sends }) => {
    const { show } = stubBrowser()
    const { server, client } = await setUpLoggedIn({ session })
    show('hidden')
    await vi.advanceTimersByTimeAsync(20 * DAY_MS)
    expect(server.sent).toEqual([])
    expect(await client.token()).toBeDefined()
    expect(server.sent).toMatchObject([{ ...sends, url: { pathname: '/refreshtoken' } }])
    expect(server.sent[0]?.headers.has('authorization')).toBe(false)
    expect(client.user).toBeDefined()
  })

  it('is one for all that wait for it', async () => {
    const { server, client } = await setUpLoggedIn()
    vi.setSystemTime(Date.now() + HOUR_MS)
    await Promise.all(Array.from({ length: 10 }, () => client.fetch(`${API}/todos`)))
    expect(server.refreshes()).toBe(1)
  })

  it('is never sent twice within a second', async () => {
    const times: number[] = []
    const { server, client } = await setUpLoggedIn()
    server.intercept = ({ url }) => {
      if (url.pathname !== '/refreshtoken') return undefined
      times.push(Date.now())
      throw new TypeError('offline')
    }
    vi.setSystemTime(Date.now() + HOUR_MS)
    const calls = Array.from({ length: 6 }, async (_, index) => {
      await vi.advanceTimersByTimeAsync(index * 100)
      return client.token().catch(Object)
    })
    await vi.advanceTimersByTimeAsync(20_000)
    await Promise.all(calls)
    for (let call = 0; call < 5; call++) {
      const next = client.token().catch(Object)
      await vi.advanceTimersByTimeAsync(1_000)
      await next
    }
    expect(times.length).toBeGreaterThan(3)
    for (const [index, time] of times.slice(1).entries())
      expect(time - (times[index] ?? 0)).toBeGreaterThanOrEqual(1_000)
  })

  const ENDS = [
    { what: '401 invalid-token', answer: () => problem(401, 'invalid-token'), isEnd: true },
    { what: '400 invalid-input', answer: () => problem(400, 'invalid-input'), isEnd: true },
    { what: '401 of a proxy', answer: () => new Response('', { status: 401 }), isEnd: false },
    { what: '403 forbidden', answer: () => problem(403, 'forbidden'), isEnd: false },
    { what: '404', answer: () => problem(404, 'not-found'), isEnd: false },
    { what: '429', answer: () => problem(429, 'rate-limited', { 'retry-after': '1' }), isEnd: false },
    { what: '500', answer: () => problem(500, 'internal-server-error'), isEnd: false },
    { what: '502 of a proxy', answer: () => new Response('<html>', { status: 502 }), isEnd: false },
    { what: '503', answer: () => problem(503, 'unavailable', { 'retry-after': '1' }), isEnd: false },
    { what: 'no answer', answer: () => Promise.reject(new TypeError('fetch failed')), isEnd: false },
    { what: 'half an answer', answer: () => new Response('{"token":'), isEnd: false },
  ]
  it.each(ENDS)('ends the session by $what: $isEnd', async ({ answer, isEnd }) => {
    const { server, client } = await setUpLoggedIn()
    const changes: unknown[] = []
    client.onChange((user, { reason }) => changes.push({ user, reason }))
    server.intercept = ({ url }) => (url.pathname === '/refreshtoken' ? answer() : undefined)
    vi.setSystemTime(Date.now() + 2 * HOUR_MS)
    const outcome = await client.token().catch((error) => error)
    if (isEnd) {
      expect(outcome).toBeUndefined()
      expect(changes).toEqual([{ user: undefined, reason: 'ended' }])
      return
    }
    expect(outcome).toBeInstanceOf(LatchkeyError)
    expect(client.user).toBeDefined()
    server.intercept = () => undefined
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await client.token()).toBeDefined()
    expect(changes).toEqual([])
  })

  it('waits as long as Retry-After says, whatever is asked for', async () => {
    const { show } = stubBrowser()
    const { server, client } = await setUpLoggedIn({ session: 'storage' })
    server.intercept = () => problem(503, 'unavailable', { 'retry-after': '40' })
    await vi.advanceTimersByTimeAsync(HOUR_MS)
    const sent = server.refreshes()
    expect(sent).toBeGreaterThan(0)
    await vi.advanceTimersByTimeAsync(41_000)
    server.sent.length = 0
    for (let second = 0; second < 120; second++) {
      show('visible')
      const asked = client.token().catch(Object)
      await vi.advanceTimersByTimeAsync(1_000)
      await asked
    }
    expect(server.refreshes()).toBeLessThanOrEqual(3)
    expect(server.refreshes()).toBeGreaterThanOrEqual(2)
    const refused = refusal(client.token())
    await vi.advanceTimersByTimeAsync(1_000)
    expect(await refused).toMatchObject({ status: 503, retryAfter: expect.any(Number) })
  })

  it('goes on with a valid token while none can be had', async () => {
    const { server, client } = await setUpLoggedIn()
    const token = await client.token()
    server.intercept = () => Promise.reject(new TypeError('offline'))
    vi.setSystemTime(Date.now() + HOUR_MS - 30_000)
    expect(await client.token()).toBe(token)
    vi.setSystemTime(Date.now() + 31_000)
    await expect(client.token()).rejects.toThrow('did not answer')
  })

  it('is dropped where the user has logged out, or in again, meanwhile', async () => {
    for (const meanwhile of ['logOut', 'logIn'] as const) {
      const { server, client } = await setUpLoggedIn()
      const release = Promise.withResolvers<undefined>()
      server.intercept = ({ url }) => (url.pathname === '/refreshtoken' ? release.promise : undefined)
      vi.setSystemTime(Date.now() + HOUR_MS)
      const waiting = client.token()
      await vi.advanceTimersByTimeAsync(0)
      const done = meanwhile === 'logOut' ? client.logOut() : client.logIn(CREDENTIALS)
      await done
      const token = meanwhile === 'logOut' ? undefined : await client.token()
      release.resolve(undefined)
      expect(await waiting, meanwhile).toBe(token)
      expect(Boolean(client.user), meanwhile).toBe(meanwhile === 'logIn')
    }
  })

  it.each([
    { lifetimeSeconds: 40, hours: 1, atMost: 120, atLeast: 80 },
    { lifetimeSeconds: 3_600, hours: 10, atMost: 11, atLeast: 9 },
    { lifetimeSeconds: 30 * 86_400, hours: 24 * 29, atMost: 0, atLeast: 0 },
  ])(
    'of a page that is seen, with tokens of $lifetimeSeconds s, comes at most $atMost times in $hours h',
    async ({ lifetimeSeconds, hours, atMost, atLeast }) => {
      stubBrowser()
      const { server, client } = await setUpLoggedIn({ session: 'storage', lifetimeSeconds })
      await vi.advanceTimersByTimeAsync(hours * HOUR_MS)
      expect(server.refreshes()).toBeLessThanOrEqual(atMost)
      expect(server.refreshes()).toBeGreaterThanOrEqual(atLeast)
      expect(server.pathsOf().filter((path) => path !== '/refreshtoken')).toEqual([])
      client.close()
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  it.each(['online', 'pageshow', 'visibilitychange'])('comes at once at the event %s', async (name) => {
    const { window } = stubBrowser()
    const { server, client } = await setUpLoggedIn({ session: 'storage' })
    server.intercept = () => Promise.reject(new TypeError('offline'))
    await vi.advanceTimersByTimeAsync(HOUR_MS + 600_000)
    server.intercept = () => undefined
    const before = server.refreshes()
    await vi.advanceTimersByTimeAsync(1_000)
    window.dispatchEvent(new Event(name))
    await vi.advanceTimersByTimeAsync(1)
    expect(server.refreshes()).toBe(before + 1)
    expect(client.user).toBeDefined()
  })

  it('waits longer after each one that fails, and a random part of it', async () => {
    stubBrowser()
    const { server } = await setUpLoggedIn({ session: 'storage' })
    const times: number[] = []
    server.intercept = () => {
      times.push(Date.now())
      throw new TypeError('offline')
    }
    await vi.advanceTimersByTimeAsync(HOUR_MS + 600_000)
    const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0))
    expect(gaps[0]).toBeLessThanOrEqual(2_000)
    expect(Math.max(...gaps)).toBeGreaterThan(30_000)
    expect(Math.max(...gaps)).toBeLessThanOrEqual(60_000)
    expect(gaps.length).toBeLessThan(40)
  })

  it.each([-DAY_MS, DAY_MS])('survives a clock that is set by %d ms', async (jump) => {
    const { server, client } = await setUpLoggedIn()
    vi.setSystemTime(Date.now() + jump)
    expect(await client.token()).toBeDefined()
    server.intercept = ({ headers, url }) =>
      url.pathname === '/todos' && headers.get('authorization') === 'x'
        ? problem(401, 'invalid-token')
        : undefined
    expect(server.refreshes()).toBeLessThanOrEqual(1)
    expect(client.user).toBeDefined()
  })
})

describe('a session whose cookie the browser refuses', () => {
  it('lasts as long as the page refreshes its access token', async () => {
    stubBrowser()
    const { server, client } = await setUpLoggedIn({ session: 'cookie' })
    server.loseCookie()
    await vi.advanceTimersByTimeAsync(3 * HOUR_MS)
    expect(client.user).toBeDefined()
    expect(await client.profile()).toEqual({ path: '/profile' })
    const bearers = server.sent.filter(
      ({ url, headers }) => url.pathname === '/refreshtoken' && headers.has('authorization'),
    )
    expect(bearers.length).toBeGreaterThan(2)
    expect(server.refreshes()).toBe(bearers.length + 1)
  })

  it('ends with a 401, and so does one that an admin has ended', async () => {
    stubBrowser()
    const { server, client } = await setUpLoggedIn({ session: 'cookie' })
    server.endSessions()
    const response = await client.fetch(`${URL_OF_API}profile`)
    expect(response.status).toBe(401)
    expect(client.user).toBeUndefined()
    expect(server.pathsOf()).toEqual(['/profile', '/refreshtoken'])
  })
})

describe('a session that is not remembered', () => {
  it('is refreshed by its access token in the last minutes, in no storage', async () => {
    const { items, show } = stubBrowser()
    const { server, client } = await setUpLoggedIn({ session: 'storage', remember: false })
    expect(items.size).toBe(0)
    show('hidden')
    await vi.advanceTimersByTimeAsync(HOUR_MS - 301_000)
    expect(server.refreshes()).toBe(0)
    await vi.advanceTimersByTimeAsync(10 * HOUR_MS)
    expect(client.user).toBeDefined()
    expect(server.refreshes()).toBeLessThanOrEqual(12)
  })

  it('ends when its token has expired in a sleep', async () => {
    const { server, client } = await setUpLoggedIn({ remember: false })
    vi.setSystemTime(Date.now() + 2 * HOUR_MS)
    expect(await client.token()).toBeUndefined()
    expect(server.refreshes()).toBe(1)
  })

  it('ends by a 401 of the API, and not by one of another server', async () => {
    const { server, client } = await setUpLoggedIn({ remember: false })
    server.intercept = () => problem(401, 'invalid-token')
    expect((await client.fetch(`${API}/todos`)).status).toBe(401)
    expect(client.user).toBeDefined()
    await expect(client.profile()).rejects.toMatchObject({ status: 401 })
    expect(client.user).toBeUndefined()
    expect(server.refreshes()).toBe(0)
  })

  it('lasts where the clock of the machine is set forward', async () => {
    const { server, client } = await setUpLoggedIn({ remember: false })
    server.intercept = ({ url }) =>
      url.pathname === '/refreshtoken' ? problem(401, 'token-not-refreshable') : Response.json({})
    const token = await client.token()
    vi.setSystemTime(Date.now() + DAY_MS)
    expect(await client.token()).toBe(token)
    await vi.advanceTimersByTimeAsync(HOUR_MS)
    expect(server.refreshes()).toBeLessThanOrEqual(26)
    server.intercept = () => undefined
  })
})

describe('a log-out', () => {
  it.each([
    {
      session: 'cookie',
      remember: true,
      sends: { body: { everywhere: true }, credentials: 'include' },
      bearer: false,
    },
    {
      session: 'storage',
      remember: true,
      sends: { body: { everywhere: true, refresh_token: 'r2' }, credentials: 'omit' },
      bearer: false,
    },
    { session: 'memory', remember: false, sends: { body: { everywhere: true } }, bearer: true },
  ] as const)(
    'ends the session $session, also long after its token has expired',
    async ({ session, remember, sends, bearer }) => {
      stubBrowser()
      const { server, client } = await setUpLoggedIn({ session, remember })
      const changes: unknown[] = []
      client.onChange((user, { reason }) => changes.push([user, reason]))
      await client.logOut({ everywhere: true })
      expect(server.sent).toMatchObject([{ url: { pathname: '/logout' }, ...sends }])
      expect(server.sent[0]?.headers.has('authorization')).toBe(bearer)
      expect(client.user).toBeUndefined()
      expect(changes).toEqual([[undefined, 'logged-out']])
      await client.logOut()
      expect(server.sent.length).toBe(1)
    },
  )

  it.each([
    { what: 'no answer', answer: () => Promise.reject(new TypeError('offline')), isTold: false },
    { what: '503', answer: () => problem(503, 'unavailable'), isTold: false },
    { what: '401', answer: () => problem(401, 'invalid-token'), isTold: true },
  ])(
    'logs out here in any case, and throws where the server cannot be told: $what',
    async ({ answer, isTold }) => {
      const { server, client } = await setUpLoggedIn()
      server.intercept = answer
      const outcome = await client.logOut().then(
        () => true,
        () => false,
      )
      expect(outcome).toBe(isTold)
      expect(client.user).toBeUndefined()
    },
  )

  it('everywhere lets the user try again where the server cannot be told', async () => {
    const { server, client } = await setUpLoggedIn()
    server.intercept = () => problem(503, 'unavailable')
    await refusal(client.logOut({ everywhere: true }))
    expect(client.user).toBeDefined()
    server.intercept = () => undefined
    await client.logOut({ everywhere: true })
    expect(client.user).toBeUndefined()
  })
})
