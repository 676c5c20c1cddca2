import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** The kinds of requests, by what each changes or needs in the database. */
type Kind = 'login' | 'ping' | 'rename' | 'refresh' | 'password' | 'logout' | 'reset'

export interface Answer {
  kind: Kind
  at: number
  endedAt: number
  /** 0 where the connection failed. */
  status: number
  hasRetryAfter: boolean
}

/** A value that a user has set, and when that was acknowledged; undefined where the outcome is unknown. */
interface Change {
  value: string
  at?: number
}

interface Account {
  email: string
  names: Change[]
  passwords: Change[]
}

/** Something that was acknowledged, and when. */
export interface Acknowledged {
  what: string
  at: number
}

export interface Load {
  answers: readonly Answer[]
  /** The addresses whose reset was accepted. */
  resets: readonly Acknowledged[]
  /** Each acknowledged change that was found missing. */
  lost: readonly Acknowledged[]
  /** Ends the load, and looks for all that was acknowledged. */
  end(): Promise<void>
}

export const PASSWORD = 'Correct-Horse-9'
const ACTORS = 10
const PAUSE_MS = 150
const RESET_PAUSE_MS = 400
/** Longer than REVOCATION_CACHE, in which a replica may still accept a token. */
const REMEMBERED_MS = 6_000
const GIVE_UP_MS = 30_000

/**
 * The users actor0, actor1 and so on log in, change what they have and log out, until `end()` or the end of the test; ada1, ada2
 * and so on request resets. */
export function startLoad(api: string): Load {
  const answers: Answer[] = []
  const lost: Acknowledged[] = []
  const resets: Acknowledged[] = []
  const ended = new Map<string, number>()
  let isEnding = false

  async function send(
    kind: Kind,
    [method, path]: [method: string, path: string],
    { token, body }: { token?: string; body?: object } = {},
  ): Promise<{ status: number; json: { token?: string; name?: string } }> {
    const at = Date.now()
    const answer = { kind, at, status: 0, hasRetryAfter: false }
    try {
      const response = await fetch(`${api}${path}`, {
        method,
        headers: {
          ...(token ? { authorization: `Bearer ${token}` } : {}),
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: AbortSignal.timeout(GIVE_UP_MS),
      })
      answer.status = response.status
      answer.hasRetryAfter = response.headers.has('retry-after')
      const text = await response.text()
      return { status: response.status, json: text.startsWith('{') ? JSON.parse(text) : {} }
    } catch {
      return { status: 0, json: {} }
    } finally {
      answers.push({ ...answer, endedAt: Date.now() })
    }
  }

  async function logIn(account: Account): Promise<string | undefined> {
    for (const { value: password } of account.passwords.toReversed()) {
      const { status, json } = await send('login', ['POST', '/login'], {
        body: { username: account.email, password },
      })
      if (status === 200) reconcile(account, 'passwords', password)
      if (status !== 401) return json.token
    }
    throw new Error(`${account.email} has none of its passwords`)
  }

  /** Tells what is lost where `account` has `value`: what was acknowledged after that. */
  function reconcile({ email, ...changes }: Account, kind: 'names' | 'passwords', value: string): void {
    const at = changes[kind].findLastIndex((each) => each.value === value)
    for (const { at: acknowledgedAt } of changes[kind].splice(at + 1))
      if (acknowledgedAt !== undefined) lost.push({ what: `${kind} of ${email}`, at: acknowledgedAt })
    if (at < 0) throw new Error(`${email} has ${value}, which was not one of its ${kind}`)
  }

  async function rename(account: Account, token: string, value: string): Promise<void> {
    const { status } = await send('rename', ['PUT', '/profile'], { token, body: { name: value } })
    account.names.push(status === 200 ? { value, at: Date.now() } : { value })
  }

  async function changePassword(account: Account, token: string): Promise<string | undefined> {
    const currentPassword = account.passwords.at(-1)?.value ?? PASSWORD
    const value = `N3w-${shuffle('bdfhjlnprtvxz')}`
    const body = { current_password: currentPassword, password: value }
    const { status, json } = await send('password', ['PUT', '/profile/password'], { token, body })
    account.passwords.push(status === 200 ? { value, at: Date.now() } : { value })
    if (status === 200) ended.set(token, Date.now())
    return json.token
  }

  async function act(account: Account): Promise<void> {
    for (let turn = 1; !isEnding; turn++) {
      await wait(PAUSE_MS)
      let token = await logIn(account)
      if (!token) continue
      await send('ping', ['GET', '/sampleprotected/ping'], { token })
      await rename(account, token, `turn ${turn}`)
      const refreshed = await send('refresh', ['POST', '/refreshtoken'], { token })
      token = refreshed.json.token ?? token
      if (turn % 3 === 0) token = (await changePassword(account, token)) ?? token
      const { status } = await send('logout', ['POST', '/logout'], { token })
      if (status === 204) ended.set(token, Date.now())
    }
  }

  async function requestResets(): Promise<void> {
    for (let index = 1; !isEnding; index++) {
      await wait(RESET_PAUSE_MS)
      const email = `ada${index}@example.com`
      const { status } = await send('reset', ['POST', '/login/resetrequest'], { body: { email } })
      if (status === 200) resets.push({ what: email, at: Date.now() })
    }
  }

  /** A token that has ended must not be accepted again, whatever server answers. */
  async function useEndedTokens(): Promise<void> {
    while (!isEnding) {
      await wait(PAUSE_MS)
      const old = [...ended].filter(([, at]) => Date.now() - at > REMEMBERED_MS)
      const some = old.at(Math.floor(Math.random() * old.length))
      if (some) await expectRefused(...some)
    }
  }

  async function expectRefused(token: string, at: number): Promise<void> {
    const { status } = await send('ping', ['GET', '/sampleprotected/ping'], { token })
    if (status === 200 && ended.delete(token)) lost.push({ what: 'a log-out', at })
  }

  async function check(account: Account): Promise<void> {
    const token = await logIn(account)
    const { json } = await send('ping', ['GET', '/profile'], token ? { token } : {})
    reconcile(account, 'names', json.name ?? '')
  }

  const accounts = Array.from({ length: ACTORS }, (_, index): Account => {
    return { email: `actor${index}@example.com`, names: [{ value: 'Ada' }], passwords: [{ value: PASSWORD }] }
  })
  const running = Promise.all([...accounts.map(act), requestResets(), useEndedTokens()])
  const stop = async () => {
    isEnding = true
    await running
  }
  onTestFinished(stop)
  return {
    answers,
    resets,
    lost,
    async end() {
      await stop()
      await wait(REMEMBERED_MS)
      await Promise.all(accounts.map(check))
      for (const [token, at] of ended) await expectRefused(token, at)
    },
  }
}

/** Letters of which no two are neighbours in the alphabet are no sequence in any order. */
const shuffle = (letters: string): string =>
  [...letters]
    .map((letter) => ({ letter, at: randomInt(2 ** 32) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ letter }) => letter)
    .join('')
