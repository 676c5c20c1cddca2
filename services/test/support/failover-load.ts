import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** What a request changes or needs in the database. */
type Kind = 'login' | 'ping' | 'rename' | 'refresh' | 'password' | 'logout' | 'reset'

export interface Answer {
  kind: Kind
  at: number
  endedAt: number
  /** 0 where the connection failed. */
  status: number
  hasRetryAfter: boolean
}

/** What one user knows: the last change that was acknowledged, and those since then whose outcome is unknown. */
interface Account {
  email: string
  names: string[]
  passwords: string[]
}

export interface Load {
  answers: readonly Answer[]
  /** The addresses whose reset was accepted. */
  resets: readonly string[]
  /** Each acknowledged change that was found missing. */
  lost: string[]
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
  const lost: string[] = []
  const resets: string[] = []
  const ended: { token: string; at: number }[] = []
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
    for (const password of account.passwords) {
      const { status, json } = await send('login', ['POST', '/login'], {
        body: { username: account.email, password },
      })
      if (status === 200) account.passwords = [password]
      if (status !== 401) return json.token
    }
    lost.push(`the password of ${account.email}`)
    return undefined
  }

  async function rename(account: Account, token: string, name: string): Promise<void> {
    const { status } = await send('rename', ['PUT', '/profile'], { token, body: { name } })
    account.names = status === 200 ? [name] : [...account.names, name]
  }

  async function changePassword(account: Account, token: string): Promise<string | undefined> {
    const [currentPassword = PASSWORD] = account.passwords
    const password = `N3w-${shuffle('bdfhjlnprtvxz')}`
    const body = { currentPassword, password }
    const { status, json } = await send('password', ['PUT', '/profile/password'], { token, body })
    if (status === 200) {
      account.passwords = [password]
      ended.push({ token, at: Date.now() })
    } else account.passwords = [...account.passwords, password]
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
      if (status === 204) ended.push({ token, at: Date.now() })
    }
  }

  async function requestResets(): Promise<void> {
    for (let index = 1; !isEnding; index++) {
      await wait(RESET_PAUSE_MS)
      const email = `ada${index}@example.com`
      const { status } = await send('reset', ['POST', '/login/resetrequest'], { body: { email } })
      if (status === 200) resets.push(email)
    }
  }

  /** A token that has ended must not be accepted again, whatever server answers. */
  async function useEndedTokens(): Promise<void> {
    while (!isEnding) {
      await wait(PAUSE_MS)
      const old = ended.filter(({ at }) => Date.now() - at > REMEMBERED_MS)
      const some = old.at(Math.floor(Math.random() * old.length))
      if (some) await refuse(some.token)
    }
  }

  async function refuse(token: string): Promise<number> {
    const { status } = await send('ping', ['GET', '/sampleprotected/ping'], { token })
    if (status === 200) lost.push('a log-out')
    return status
  }

  async function check(account: Account): Promise<void> {
    const token = await logIn(account)
    const { json } = await send('ping', ['GET', '/profile'], token ? { token } : {})
    if (!account.names.includes(json.name ?? ''))
      lost.push(`the name of ${account.email}: ${json.name}, not ${account.names}`)
  }

  const accounts = Array.from({ length: ACTORS }, (_, index): Account => {
    return { email: `actor${index}@example.com`, names: ['Ada'], passwords: [PASSWORD] }
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
      for (const { token } of ended) await refuse(token)
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
