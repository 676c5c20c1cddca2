import { randomBytes } from 'node:crypto'
import { PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { TOTP } from 'otpauth'
import { aToken, bearer, logIn, type TestApp } from './start-app.ts'

/** Returns the settings that an app needs for second factors. */
export const factorSettings = (given: Record<string, string> = {}): Record<string, string> => ({
  SECOND_FACTOR: 'on',
  FACTOR_SECRET: randomBytes(32).toString('base64'),
  ...given,
})

/** The code that an authenticator app shows at `now`, in milliseconds. */
export const codeAt = (secret: string, now: number): string =>
  new TOTP({ algorithm: 'SHA1', digits: 6, period: 30, secret }).generate({ timestamp: now })

export const post = (app: Pick<TestApp, 'server'>, url: string, payload: object, token?: string) =>
  app.server.inject({ method: 'POST', url, payload, headers: token === undefined ? {} : bearer(token) })

export interface Enrolled {
  secret: string
  /** The access token that the confirmation of the factor returned. */
  token: string
  recoveryCodes: string[]
}

/** Adds an authenticator app to a user at `now`, by a token of the user. */
export async function enrol(app: TestApp, token: string, now: number): Promise<Enrolled> {
  const begun = await post(app, '/profile/factors/totp', { current_password: PASSWORD }, token)
  if (begun.statusCode !== 200) throw new Error(`Adding a factor was answered ${begun.body}`)
  const { secret } = begun.json()
  const confirmed = await post(app, '/profile/factors/totp/confirm', { code: codeAt(secret, now) }, token)
  if (confirmed.statusCode !== 200) throw new Error(`Confirming a factor was answered ${confirmed.body}`)
  const { token: raised, recovery_codes: recoveryCodes } = confirmed.json()
  return { secret, token: raised, recoveryCodes }
}

/** Adds an authenticator app to a user without one. */
export const enrolUser = async (app: TestApp, user: TestUser, now: number): Promise<Enrolled> =>
  enrol(app, await aToken(app, user), now)

/** The challenge of a login with the right password. */
export async function challengeOf(app: TestApp, user: TestUser): Promise<string> {
  const response = await logIn(app, user.email)
  if (response.statusCode !== 403) throw new Error(`The login was answered ${response.body}`)
  return response.json().challenge
}

export const answer = (app: TestApp, challenge: string, code: string) =>
  post(app, '/login/secondfactor', { challenge, code })
