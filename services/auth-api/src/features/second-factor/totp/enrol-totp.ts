import { randomUUID } from 'node:crypto'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { LoggedInClient } from '../../../http/client.ts'
import type { AccountGuard } from '../../account/account-guard.ts'
import { ENROLMENT_SECONDS } from '../challenges.ts'
import type { Enrolled, SecondFactor } from '../second-factor.ts'
import { codeRefused } from '../verify-code.ts'
import { findStep, generateTotpSecret, totpUri } from './totp.ts'

export interface EnrolTotpDependencies {
  guard: Pick<AccountGuard, 'change' | 'allow'>
  secondFactor: Pick<SecondFactor, 'add' | 'secrets' | 'factorAttempts'>
  /** What an authenticator app shows beside the name of the user. */
  productName: string
  localNow: Clock
}

/** A request to add an authenticator app. */
export interface TotpRequest {
  /** Absent for a user without a password. */
  currentPassword?: string | undefined
  /** What the user calls the device. */
  name?: string | undefined
}

/** A secret that a client can show as a QR code. */
export interface Enrolment {
  /** The secret in base 32. */
  secret: string
  uri: string
}

/** A user needs two to change from one device to another. Each one multiplies the chance of a guess. */
const MAX_APPS = 3

/** Creates the two functions that add an authenticator app: a secret, and its confirmation by the first code. */
export function createEnrolTotp(dependencies: EnrolTotpDependencies) {
  const { guard, secondFactor, productName, localNow } = dependencies
  const { secrets, factorAttempts } = secondFactor

  return {
    /**
     * Begins an enrolment, which replaces one that is not confirmed. Throws `too_many_factors`, and what
     * the guard throws.
     */
    begin: ({ currentPassword, name }: TotpRequest, client: LoggedInClient): Promise<Enrolment> =>
      guard.change('addApp', client, currentPassword, async (transaction, user, { begunUnder }) => {
        const factors = createFactorRepository(transaction)
        const { userid } = user
        const apps = (await factors.find(userid)).filter(
          ({ kind, confirmedAt }) => kind === 'totp' && confirmedAt,
        )
        if (apps.length >= MAX_APPS) throw tooManyApps()
        const secret = generateTotpSecret()
        const data = await secrets.sealTotp(userid, secret)
        await factors.deletePending(userid)
        const pending = { id: randomUUID(), userid, kind: 'totp', name, data, begunUnder } as const
        await factors.insert(pending, new Date(localNow()))
        const label = user.email ?? user.username
        return { secret, uri: totpUri(secret, { issuer: productName, label }) }
      }),

    /** Confirms the enrolment by a code; returns a token of a login with it. Throws `second_factor_refused`, and what the guard throws. */
    confirm: (code: string, client: LoggedInClient): Promise<Enrolled> =>
      factorAttempts.run(client, { userid: client.claims.sub, purpose: 'enrolment', kind: 'totp' }, () =>
        secondFactor.add(client, async (transaction, user) => {
          const factors = createFactorRepository(transaction)
          const now = localNow()
          const pending = (await factors.find(user.userid)).find(
            ({ kind, confirmedAt, createdAt }) =>
              kind === 'totp' && !confirmedAt && now - createdAt.getTime() < ENROLMENT_SECONDS * 1000,
          )
          if (!pending) throw noEnrolment()
          const { begunUnder } = pending
          const { claims } = client
          const guarded = await guard.allow(transaction, user, { begunUnder, claims, refuse: noEnrolment })
          const step = findStep(await secrets.openTotp(user.userid, pending.data), code, now)
          if (step === undefined) throw codeRefused()
          await factors.confirm(pending.id, step, new Date(now))
          return { user: guarded, kind: 'totp', amr: ['otp'] }
        }),
      ),
  }
}

const tooManyApps = () =>
  new AppError('too_many_factors', `You have ${MAX_APPS} authenticator apps; remove one first`)

const noEnrolment = () =>
  new AppError(
    'second_factor_refused',
    'No enrolment is pending, or what guards the account has changed since; request a new secret',
  )
