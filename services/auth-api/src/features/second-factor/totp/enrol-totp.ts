import { randomUUID } from 'node:crypto'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { LoggedInClient } from '../../../http/client.ts'
import { addFactor, type EnrolledFactor, type VerifyEnrolment } from '../add-factor.ts'
import { ENROLMENT_SECONDS } from '../challenges.ts'
import { limitAttempt } from '../factor-attempts.ts'
import type { SecondFactor } from '../second-factor.ts'
import { codeRefused, findStep, generateTotpSecret, TOTP, totpUri } from './totp.ts'

/** A request to add an authenticator app. */
export interface TotpRequest {
  /** Absent for a user without a password. */
  currentPassword?: string | undefined
  /** The name that the user gives the device. */
  name?: string | undefined
}

/** A secret that a client can show as a QR code. */
export interface TotpEnrolment {
  /** The secret in base 32. */
  secret: string
  uri: string
}

/** A user needs two to change from one device to another. Each one multiplies the chance of a guess. */
const MAX_APPS = 3

/**
 * Begins the enrolment of an authenticator app, which replaces one that is not confirmed. Throws `too_many_factors`, and what the
 * guard throws.
 */
export const beginTotpEnrolment = (
  { guard, secrets, settings, localNow }: SecondFactor,
  { currentPassword, name }: TotpRequest,
  client: LoggedInClient,
): Promise<TotpEnrolment> =>
  guard.change('addFactor', client, currentPassword, async (transaction, user, { begunUnder }) => {
    const factors = createFactorRepository(transaction)
    const { userid } = user
    const apps = (await factors.find(userid)).filter(
      ({ kind, confirmedAt }) => kind === TOTP.name && confirmedAt,
    )
    if (apps.length >= MAX_APPS) throw tooManyApps()
    const secret = generateTotpSecret()
    const data = await secrets.seal(userid, 'totp', secret)
    await factors.deletePending(userid)
    await factors.insert(
      { id: randomUUID(), userid, kind: TOTP.name, name, data, begunUnder },
      new Date(localNow()),
    )
    const label = user.email ?? user.username
    return { secret, uri: totpUri(secret, { issuer: settings.productName, label }) }
  })

/**
 * Adds the authenticator app of the pending enrolment by its first code; returns a token of a login with it. Throws
 * `second_factor_refused`, and what the guard throws.
 */
export function verifyTotpEnrolment(
  secondFactor: SecondFactor,
  code: string,
  client: LoggedInClient,
): Promise<EnrolledFactor> {
  const attempt = { userid: client.claims.sub, purpose: 'enrolment', kind: TOTP } as const
  return limitAttempt(secondFactor, client, attempt, () =>
    addFactor(secondFactor, TOTP, client, verifyApp(secondFactor, code, client)),
  )
}

const verifyApp =
  ({ guard, secrets, localNow }: SecondFactor, code: string, { claims }: LoggedInClient): VerifyEnrolment =>
  async (transaction, user) => {
    const factors = createFactorRepository(transaction)
    const now = localNow()
    // The row of the user is locked on one node of a database only: two may have begun an enrolment at once.
    const pending = (await factors.find(user.userid)).filter(
      ({ kind, confirmedAt, createdAt }) =>
        kind === TOTP.name && !confirmedAt && now - createdAt.getTime() < ENROLMENT_SECONDS * 1000,
    )
    for (const { id, data, begunUnder } of pending) {
      const guarded = await guard.allow(transaction, user, { begunUnder, claims, refuse: noEnrolment })
      const step = findStep(await secrets.open(user.userid, 'totp', data), code, now)
      if (step === undefined) continue
      await factors.confirm(id, step, new Date(now))
      return { user: guarded, amr: ['otp'] }
    }
    throw pending.length === 0 ? noEnrolment() : codeRefused()
  }

const tooManyApps = () => new AppError('too_many_factors', `You have ${MAX_APPS} authenticator apps`)

const noEnrolment = () =>
  new AppError(
    'second_factor_refused',
    'No enrolment is pending, or what guards the account has changed since',
    { reason: 'enrolment_missing' },
  )
