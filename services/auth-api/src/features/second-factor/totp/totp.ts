import { AppError } from '@latchkey/shared/errors/app-error.ts'
import * as otpauth from 'otpauth'
import type { FactorTraits } from '../second-factor.ts'

export const TOTP: FactorTraits = { name: 'totp', isGuessable: true }

/** The rules that every authenticator app supports (RFC 6238). */
const RULES = { algorithm: 'SHA1', digits: 6, period: 30 }
/** Steps before and after the present one whose codes are accepted: clocks differ. */
const WINDOW = 1

/** Creates a secret of 160 random bits, in base 32. */
export const generateTotpSecret = (): string => new otpauth.Secret({ size: 20 }).base32

/** The URI that an authenticator app reads from a QR code. */
export const totpUri = (secret: string, { issuer, label }: { issuer: string; label: string }): string =>
  new otpauth.TOTP({ ...RULES, issuer, label, secret }).toString()

/** Returns the time step of a code at `now`, in milliseconds; undefined for a wrong one, and without a secret. */
export function findStep(secret: string | undefined, code: string, now: number): number | undefined {
  if (secret === undefined) return undefined
  const totp = new otpauth.TOTP({ ...RULES, secret })
  const delta = totp.validate({ token: code, timestamp: now, window: WINDOW })
  return delta === null ? undefined : totp.counter({ timestamp: now }) + delta
}

export const codeRefused = () =>
  new AppError('second_factor_refused', 'The code is wrong or was used already', { reason: 'app_code_wrong' })
