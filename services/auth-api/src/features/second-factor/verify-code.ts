import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import type { Client, LoggedInClient } from '../../http/client.ts'
import type { IssuedLogin, IssuedToken } from '../../tokens/issue-token.ts'
import type { RefreshForm } from '../../tokens/refresh-token.ts'
import { LOGIN } from './challenges.ts'
import type { FactorKind, SecondFactor, VerifyFactor } from './second-factor.ts'
import { verifyLogin } from './verify-login.ts'
import { verifyStepUp } from './verify-step-up.ts'

/** The second step of a login. */
export interface LoginCode {
  challenge: string
  code: string
  remember?: RefreshForm | undefined
}

/** A code, or the password of a user without a second factor; neither for a user without both. */
export interface StepUp {
  code?: string | undefined
  currentPassword?: string | undefined
}

/** Exchanges the challenge of a login and a code for a token. Throws `challenge_refused`, and what `verifyLogin` throws. */
export async function verifyLoginCode(
  secondFactor: SecondFactor,
  { challenge: text, code, remember }: LoginCode,
  client: Client,
): Promise<IssuedLogin> {
  const challenge = await secondFactor.challenges.read(text, LOGIN)
  return verifyLogin(secondFactor, { challenge, remember, ...verifyCode(secondFactor, code, client) }, client)
}

/**
 * Exchanges a token for one of the same session that says what the user shows now, and its time. Throws
 * `second_factor_refused`, and what the guard and `verifyStepUp` throw.
 */
export async function stepUp(
  secondFactor: SecondFactor,
  { code, currentPassword }: StepUp,
  client: LoggedInClient,
): Promise<IssuedToken> {
  const { db, getTokenUser, guard } = secondFactor
  const user = await getTokenUser(db, client.claims)
  if (code !== undefined) return verifyStepUp(secondFactor, verifyCode(secondFactor, code, client), client)
  if (!guard.hasFactor(user)) return stepUpByPassword(secondFactor, currentPassword, client)
  throw new AppError('second_factor_refused', 'The request has no code', { reason: 'code_missing' })
}

async function stepUpByPassword(
  { guard, issueToken, localNow }: SecondFactor,
  password: string | undefined,
  client: LoggedInClient,
): Promise<IssuedToken> {
  const readAt = toNumericDate(localNow())
  const [user, login] = await guard.change('stepUp', client, password, async (_, user, { login }) => [
    user,
    login,
  ])
  return issueToken(user, readAt, client.audit, { sid: client.claims.sid, ...login })
}

/** Returns the kind of a code, and the function that verifies it. */
function verifyCode(
  secondFactor: SecondFactor,
  code: string,
  { audit }: Client,
): { kind: FactorKind; verify: VerifyFactor } {
  for (const kind of secondFactor.kinds)
    if (kind.code?.matches(code)) return { kind, verify: kind.code.verify(secondFactor, code, audit) }
  throw new Error('no kind of factor takes this code: recovery codes take any')
}
