import fc from 'fast-check'
import { decodeJwt } from 'jose'
import { expect } from 'vitest'
import type { Replicas } from './replicas.ts'
import type { ModelOptions } from './run-model.ts'

/** The times for which a replaced token is still accepted, and a replica may remember a session that has ended. */
const [GRACE_MS, CACHE_MS] = [10_000, 5_000]

/** A kind of session: what its clients hold, and how they begin, use and refresh it. */
export interface SessionKind<Held> {
  begin(): Promise<Held>
  /** Sends a request with it; resolves with the status. */
  use(replica: number, held: Held): Promise<number>
  /** Resolves with what comes after it; undefined where it was refused. */
  refresh(replica: number, held: Held): Promise<Held | undefined>
  /** The pair that the repeats of one refresh have in common. */
  pairOf(held: Held): string
  /** The first moment at which it can be refreshed, and the first at which it can no more. */
  windowOf(held: Held): { from: number; to: number }
  /** The moment at which it can no more be used without a refresh. */
  usableUntil(held: Held): number
  /** The times for which a machine sleeps. */
  sleepsMs: readonly number[]
}

/** Around the grace, the memory of a replica, and the lifetime of an access token. */
const SLEEPS_MS = [0, 1, 900, 5_001, 9_999, 10_001, 60_000, 250_000, 3_000_000]
const DAY_MS = 86_400_000

const expOf = (token: string) => (decodeJwt(token).exp ?? 0) * 1000

/** The specification's session: an access token, which is refreshed in its last minutes. */
export function bearerSessions(replicas: Replicas, login: object): SessionKind<string> {
  return {
    begin: async () => String((await replicas.send(0, { url: '/login', payload: login })).body.token),
    use: async (replica, token) =>
      (await replicas.send(replica, { method: 'GET', url: '/sampleprotected/ping', token })).status,
    async refresh(replica, token) {
      const { status, body } = await replicas.send(replica, { url: '/refreshtoken', token })
      if (status === 200) return String(body.token)
      expect(body, 'a refusal').toMatchObject({ status: 401, type: 'urn:latchkey:problem:invalid-token' })
      return undefined
    },
    pairOf: (token) => decodeJwt(token).jti ?? '',
    windowOf: (token) => ({ from: expOf(token) - 300_000, to: expOf(token) }),
    usableUntil: expOf,
    sleepsMs: SLEEPS_MS,
  }
}

export interface LastingTokens {
  token: string
  refresh_token: string
  refresh_expires_at: string
}

/** A session that lasts: an access token, and a refresh token, which is exchanged at any time. */
export function lastingSessions(replicas: Replicas, login: object): SessionKind<LastingTokens> {
  const answer = (body: Record<string, unknown>) => body as unknown as LastingTokens
  return {
    async begin() {
      const payload = { ...login, remember: true }
      return answer((await replicas.send(0, { url: '/login', payload })).body)
    },
    use: async (replica, { token }) =>
      (await replicas.send(replica, { method: 'GET', url: '/sampleprotected/ping', token })).status,
    async refresh(replica, { refresh_token }) {
      const { status, body } = await replicas.send(replica, {
        url: '/refreshtoken',
        payload: { refresh_token },
      })
      if (status === 200) return answer(body)
      expect(body, 'a refusal').toMatchObject({ status: 401, type: 'urn:latchkey:problem:invalid-token' })
      return undefined
    },
    pairOf: ({ refresh_token }) => refresh_token,
    windowOf: ({ refresh_expires_at }) => ({ from: 0, to: Date.parse(refresh_expires_at) }),
    usableUntil: ({ token }) => expOf(token),
    sleepsMs: [...SLEEPS_MS, 3_700_000, DAY_MS, 29 * DAY_MS],
  }
}

/** The part of an exchange that the network loses. */
const loss = fc.constantFrom('nothing', 'nothing', 'the request', 'the answer')

const stepOf = ({ sleepsMs }: Pick<SessionKind<unknown>, 'sleepsMs'>) =>
  fc.record({
    does: fc.constantFrom('use', 'use', 'refresh', 'refresh', 'refresh together', 'refresh late'),
    tab: fc.nat(1),
    replica: fc.nat(1),
    loses: fc.tuple(loss, loss),
    /** Both tabs get their answers before either hears of the other's. */
    isCrossed: fc.boolean(),
    sleepMs: fc.constantFrom(...sleepsMs),
    lateMs: fc.nat(GRACE_MS - 1),
  })
type Step = ReturnType<typeof stepOf> extends fc.Arbitrary<infer Value> ? Value : never

/** A client as the documentation advises: it refreshes what it holds, and shares what it gets with its other tab. */
function createClient<Held>(kind: SessionKind<Held>, { time }: Replicas, begun: Held) {
  const tabs = [begun, begun]
  const heldBy = (tab: number) => tabs[tab] as Held
  const sleep = (ms: number) => {
    time.now += ms
    time.elapsed += ms
  }

  /** The timer of a tab; a machine that slept too long has to log in again. */
  async function awaitWindow(tab: number): Promise<void> {
    if (time.now >= kind.windowOf(heldBy(tab)).to) tabs.fill(await kind.begin())
    sleep(Math.max(0, kind.windowOf(heldBy(tab)).from - time.now))
  }

  async function exchange<Answer>(lost: string, send: () => Promise<Answer>): Promise<Answer | undefined> {
    if (lost === 'the request') return undefined
    const answer = await send()
    return lost === 'the answer' ? undefined : answer
  }

  async function refresh(replica: number, held: Held, lost = 'nothing'): Promise<Held | undefined> {
    return exchange(lost, async () => {
      const next = await kind.refresh(replica, held)
      expect(next, 'a refresh of the own session').toBeDefined()
      return next
    })
  }

  async function use(replica: number, held: Held, lost = 'nothing'): Promise<void> {
    if (time.now >= kind.usableUntil(held)) return
    const status = await exchange(lost, () => kind.use(replica, held))
    if (status !== undefined) expect(status, 'a use of the own session').toBe(200)
  }

  /** A tab stores an answer, unless it holds something newer by now. */
  function adopt(tab: number, sent: Held, answer: Held | undefined): boolean {
    if (answer === undefined || heldBy(tab) !== sent) return false
    tabs[tab] = answer
    return true
  }

  /** The other tab hears of it. */
  function share(tab: number, sent: Held): void {
    const other = 1 - tab
    if (kind.pairOf(heldBy(other)) === kind.pairOf(sent)) tabs[other] = heldBy(tab)
  }

  async function refreshTogether({ replica, loses, isCrossed }: Step): Promise<void> {
    const sent = [heldBy(0), heldBy(1)] as const
    const answers = await Promise.all(sent.map((held, tab) => refresh((replica + tab) % 2, held, loses[tab])))
    const adopted = sent.map((held, tab) => {
      const isAdopted = adopt(tab, held, answers[tab])
      if (isAdopted && !isCrossed) share(tab, held)
      return isAdopted
    })
    if (isCrossed) for (const tab of [0, 1]) if (adopted[tab]) share(tab, sent[tab] as Held)
  }

  return {
    heldBy,
    sleep,
    awaitWindow,
    /** A tab that was asleep refreshes before its next request. */
    async awake(tab: number): Promise<void> {
      await awaitWindow(tab)
      const sent = heldBy(tab)
      if (time.now >= kind.usableUntil(sent) && adopt(tab, sent, await refresh(tab, sent))) share(tab, sent)
    },
    async take(given: Step): Promise<void> {
      const { does, tab, replica, loses, sleepMs, lateMs } = given
      sleep(sleepMs)
      if (does === 'use') return use(replica, heldBy(tab), loses[0])
      await awaitWindow(tab)
      if (does === 'refresh together') {
        // The tabs may hold different answers to one refresh, with windows of their own.
        await awaitWindow(1 - tab)
        return refreshTogether(given)
      }
      const sent = heldBy(tab)
      if (adopt(tab, sent, await refresh(replica, sent, loses[0]))) share(tab, sent)
      if (does === 'refresh') return
      // A request of the other tab is slow: it comes after the first use of what this tab has got.
      await use(1 - replica, heldBy(tab), loses[1])
      sleep(lateMs)
      if (time.now < kind.windowOf(sent).to) await refresh(1 - replica, sent)
    },
  }
}

/** Begins a sequence: later than those before, so that nothing which a replica remembers has a meaning. */
function beginSequence({ time }: Replicas): void {
  Object.assign(time, { now: Date.UTC(2030, 0, 1, 0, 0, 0, 400), elapsed: time.elapsed + 1_000_000 })
}

/** Whatever the network loses and however long the machine sleeps: no session is lost that nobody stole. */
export function expectNothingLost<Held>(
  replicas: Replicas,
  kind: SessionKind<Held>,
  { seed, runs, steps }: ModelOptions,
): Promise<void> {
  const property = fc.asyncProperty(
    fc.array(stepOf(kind), { minLength: 1, maxLength: steps }),
    async (taken) => {
      beginSequence(replicas)
      const client = createClient(kind, replicas, await kind.begin())
      for (const each of taken) await client.take(each)
      for (const tab of [0, 1]) {
        await client.awake(tab)
        for (const replica of [0, 1]) expect(await kind.use(replica, client.heldBy(tab))).toBe(200)
      }
    },
  )
  return fc.assert(property, { seed, numRuns: runs, endOnFailure: true })
}

const round = fc.record({
  isThiefFirst: fc.boolean(),
  replica: fc.nat(1),
  /** Between the first use of what the first one has got and the refresh of the second one. */
  gapMs: fc.oneof(fc.nat(2 * GRACE_MS), fc.nat(200_000)),
})

/** A thief who copies what a client holds and refreshes it is found as soon as the client refreshes it too, or the reverse. */
export function expectThiefFound<Held>(
  replicas: Replicas,
  kind: SessionKind<Held>,
  { seed, runs }: ModelOptions,
): Promise<void> {
  const given = [fc.array(stepOf(kind), { maxLength: 6 }), fc.array(round, { maxLength: 3 }), round] as const
  const property = fc.asyncProperty(...given, async (before, rounds, last) => {
    beginSequence(replicas)
    const { time } = replicas
    const client = createClient(kind, replicas, await kind.begin())
    for (const each of before) await client.take(each)
    await client.awaitWindow(0)
    let [owner, thief] = [client.heldBy(0), client.heldBy(0)]
    for (const { isThiefFirst, replica, gapMs } of [...rounds, { ...last, gapMs: GRACE_MS + last.gapMs }]) {
      const from = Math.max(kind.windowOf(owner).from, kind.windowOf(thief).from)
      client.sleep(Math.max(0, from - time.now))
      const first = await kind.refresh(replica, isThiefFirst ? thief : owner)
      if (first === undefined) throw new Error('The first refresh was refused')
      expect(await kind.use(1 - replica, first)).toBe(200)
      client.sleep(gapMs)
      const replaced = isThiefFirst ? owner : thief
      // It has expired: a thief has nothing left, and an owner logs in again.
      if (time.now >= kind.windowOf(replaced).to) return
      const second = await kind.refresh(1 - replica, replaced)
      expect(second !== undefined, `a refresh ${gapMs} ms later`).toBe(gapMs < GRACE_MS)
      if (second === undefined) {
        client.sleep(CACHE_MS + 1)
        for (const held of [first, replaced])
          for (const on of [0, 1]) expect(await kind.use(on, held), 'after the theft was found').toBe(401)
        return
      }
      ;[owner, thief] = isThiefFirst ? [second, first] : [first, second]
    }
    throw new Error('The thief was not found')
  })
  return fc.assert(property, { seed, numRuns: runs, endOnFailure: true })
}
