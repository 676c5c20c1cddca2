import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import type { Claims } from './claims.ts'

/** The login that a user must have done. */
export interface RequiredLogin {
  /** True where a second factor is needed. */
  secondFactor?: boolean | undefined
  /** The greatest age of the login. */
  maxAgeSeconds?: number | undefined
}

/** The member of `amr` that says that a second factor was used (RFC 8176 §2). */
export const MULTI_FACTOR = 'mfa'

/** The value of `acr_values` in a refusal: log in by a second factor. */
const SECOND_FACTOR_ACR = 'urn:latchkey:acr:second-factor'

/** Throws `insufficient_user_authentication` (RFC 9470) where the login of a token does not suffice. */
export type RequireLogin = (claims: Claims, required: RequiredLogin) => void

export const createRequireLogin =
  (localNow: Clock): RequireLogin =>
  ({ amr, auth_time }, { secondFactor, maxAgeSeconds }) => {
    const lacksFactor = secondFactor === true && !amr?.includes(MULTI_FACTOR)
    const isTooOld = maxAgeSeconds !== undefined && toNumericDate(localNow()) - auth_time > maxAgeSeconds
    if (!lacksFactor && !isTooOld) return
    throw new AppError(
      'insufficient_user_authentication',
      lacksFactor
        ? 'A second factor is required'
        : `A login within the last ${maxAgeSeconds} seconds is required`,
      {
        ...(lacksFactor ? { reason: 'factor_missing' } : {}),
        details: {
          ...(lacksFactor ? { acr_values: SECOND_FACTOR_ACR } : {}),
          ...(maxAgeSeconds === undefined ? {} : { max_age: maxAgeSeconds }),
        },
      },
    )
  }
