import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { onTestFinished } from 'vitest'

export interface LoginAttempt {
  at: number
  endedAt: number
  isAnswered: boolean
}

export interface LoginClient {
  attempts: readonly LoginAttempt[]
  /** Ends it after the current attempt. */
  stop(): Promise<void>
}

const PAUSE_MS = 100

/** Logs in again and again until `stop()`, at the latest until the end of the test; `logIn` resolves with the status. */
export function keepLoggingIn(logIn: () => Promise<number | undefined>): LoginClient {
  const attempts: LoginAttempt[] = []
  let isEnding = false
  async function run(): Promise<void> {
    while (!isEnding) {
      const at = Date.now()
      const status = await logIn().catch(() => undefined)
      attempts.push({ at, endedAt: Date.now(), isAnswered: status === 200 })
      await wait(PAUSE_MS)
    }
  }
  const running = run()
  const stop = () => {
    isEnding = true
    return running
  }
  onTestFinished(stop)
  return { attempts, stop }
}

/** The longest time from an answer to the next one, in milliseconds. */
export function longestGap(attempts: readonly LoginAttempt[]): number {
  const answers = attempts.filter(({ isAnswered }) => isAnswered).map(({ endedAt }) => endedAt)
  return Math.max(...answers.slice(1).map((endedAt, index) => endedAt - (answers[index] ?? endedAt)))
}

/** The status of a POST whose server has a certificate of the authority `ca`. */
export async function postOverTls(url: string, body: object, ca: string): Promise<number | undefined> {
  const headers = { 'content-type': 'application/json' }
  const sent = request(url, { method: 'POST', headers, ca, agent: false, timeout: 30_000 })
  sent.on('timeout', () => sent.destroy(new Error('No answer within 30 s')))
  sent.end(JSON.stringify(body))
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}
