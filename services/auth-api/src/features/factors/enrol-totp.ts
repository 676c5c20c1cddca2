import { randomUUID } from 'node:crypto'
import { AppError } from '@latchkey/shared/app-error.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { createFactorRepository } from '@latchkey/shared/factors/factor-repository.ts'
import type { LoggedInClient } from '../../client.ts'
import type { RequireCurrentPassword } from '../../require-current-password.ts'
import type { Enrolled, SecondFactor } from '../../second-factor/second-factor.ts'
import { findStep, generateTotpSecret, totpUri } from '../../second-factor/totp.ts'
import type { GetTokenUser, LockUser } from '../../tokens/token-validity.ts'
import { codeRefused } from './verify-code.ts'

export interface EnrolTotpDependencies {
  db: Pick<Database, 'transaction'> & Queryable
  getTokenUser: GetTokenUser
  lockUser: LockUser
  requireCurrentPassword: RequireCurrentPassword
  secondFactor: Pick<SecondFactor, 'add' | 'secrets' | 'factorAttempts'>
  /** What an authenticator app shows beside the name of the user. */
  productName: string
  clock: Clock
}

/** A request to add an authenticator app. */
export interface TotpRequest {
  currentPassword: string
  /** What the user calls the device. */
  name?: string | undefined
}

/** A secret that a client can show as a QR code. */
export interface Enrolment {
  /** The secret in base 32. */
  secret: string
  uri: string
}

/** Time in which the first code must follow. */
const ENROLMENT_MS = 15 * 60 * 1000
/** A user needs two to change from one device to another. Each one multiplies the chance of a guess. */
const MAX_APPS = 3

/** Creates the two functions that add an authenticator app: a secret, and its confirmation by the first code. */
export function createEnrolTotp(dependencies: EnrolTotpDependencies) {
  const { db, getTokenUser, lockUser, requireCurrentPassword } = dependencies
  const { secondFactor, productName, clock } = dependencies
  const { secrets, factorAttempts } = secondFactor

  return {
    /**
     * Begins an enrolment, which replaces one that is not confirmed. Throws `too_many_factors`, and what
     * `requireCurrentPassword` throws.
     */
    async begin({ currentPassword, name }: TotpRequest, client: LoggedInClient): Promise<Enrolment> {
      await requireCurrentPassword(await getTokenUser(db, client.claims), currentPassword, client)
      return db.transaction(async (transaction) => {
        const user = await lockUser(transaction, client.claims)
        const factors = createFactorRepository(transaction)
        const { userid } = user
        const apps = (await factors.find(userid)).filter(
          ({ kind, confirmedAt }) => kind === 'totp' && confirmedAt,
        )
        if (apps.length >= MAX_APPS) throw tooManyApps()
        const secret = generateTotpSecret()
        const data = await secrets.sealTotp(userid, secret)
        await factors.deletePending(userid, 'totp')
        await factors.insert({ id: randomUUID(), userid, kind: 'totp', name, data }, new Date(clock()))
        const label = user.email ?? user.username
        return { secret, uri: totpUri(secret, { issuer: productName, label }) }
      })
    },

    /** Confirms the enrolment by a code; returns a token of a login with it. Throws `second_factor_refused`. */
    confirm: (code: string, client: LoggedInClient): Promise<Enrolled> =>
      factorAttempts.run(client, { userid: client.claims.sub, kind: 'totp' }, () =>
        secondFactor.add(client, async (transaction, user) => {
          const factors = createFactorRepository(transaction)
          const now = clock()
          const pending = (await factors.find(user.userid)).find(
            ({ kind, confirmedAt, createdAt }) =>
              kind === 'totp' && !confirmedAt && now - createdAt.getTime() < ENROLMENT_MS,
          )
          if (!pending) throw noEnrolment()
          const step = findStep(await secrets.openTotp(user.userid, pending.data), code, now)
          if (step === undefined) throw codeRefused()
          await factors.confirm(pending.id, step, new Date(now))
          return { kind: 'totp', amr: ['otp'] }
        }),
      ),
  }
}

const tooManyApps = () =>
  new AppError('too_many_factors', `You have ${MAX_APPS} authenticator apps; remove one first`)

const noEnrolment = () =>
  new AppError('second_factor_refused', 'No enrolment is pending; request a new secret')
