import { describe, expect, it } from 'vitest'
import { someClaims } from '../../test/support/claims.ts'
import { createRequireLogin, type RequiredLogin } from './require-login.ts'

/** Requires a login at 1,300.9 s, 300 s after that of the token. */
const requireLogin = (amr: string[] | undefined, required: RequiredLogin) =>
  createRequireLogin(() => 1_300_900)(someClaims({ amr, auth_time: 1_000 }), required)

const ACR = { acr_values: 'urn:latchkey:acr:second-factor' }
const NO_FACTOR = 'A second factor is required'
const TOO_OLD = 'A login within the last 299 seconds is required'

describe('the login of a token', () => {
  it.each<{ amr?: string[]; required: RequiredLogin }>([
    { required: {} },
    { required: { secondFactor: false } },
    { amr: ['pwd', 'mfa'], required: { secondFactor: true } },
    { required: { maxAgeSeconds: 300 } },
  ])('by $amr suffices for $required', ({ amr, required }) => {
    expect(() => requireLogin(amr, required)).not.toThrow()
  })

  it.each<{ amr?: string[]; required: RequiredLogin; message: string; details: object }>([
    { required: { secondFactor: true }, message: NO_FACTOR, details: ACR },
    { amr: ['pwd'], required: { secondFactor: true }, message: NO_FACTOR, details: ACR },
    { required: { maxAgeSeconds: 299 }, message: TOO_OLD, details: { max_age: 299 } },
    {
      amr: ['mfa'],
      required: { secondFactor: true, maxAgeSeconds: 299 },
      message: TOO_OLD,
      details: { max_age: 299 },
    },
    {
      required: { secondFactor: true, maxAgeSeconds: 299 },
      message: NO_FACTOR,
      details: { ...ACR, max_age: 299 },
    },
  ])('by $amr does not suffice for $required', ({ amr, required, message, details }) => {
    const refusal = { code: 'insufficient_user_authentication', message, details }
    expect(() => requireLogin(amr, required)).toThrow(expect.objectContaining(refusal))
  })
})
