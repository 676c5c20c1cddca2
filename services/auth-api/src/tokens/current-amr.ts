/** The member of `amr` for a login with an identity provider. RFC 8176 has none; others use this name. */
export const FEDERATED = 'fed'

/**
 * The member of `amr` for a login by a mailed code. RFC 8176 has none: its `otp` is the code of a device, which a mailbox is not,
 * and others take it for a second factor.
 */
export const MAILED_CODE = 'email'

/** The ways of showing the first factor. */
const FIRST_FACTORS: readonly string[] = ['pwd', FEDERATED, MAILED_CODE]

/** Returns what `amr` says of the first factor: every other member is from a second factor (RFC 8176 §2). */
export const withoutFactors = (amr: readonly string[]): string[] =>
  amr.filter((method) => FIRST_FACTORS.includes(method))

/** True where an identity provider has asked for the second factor, and not Latchkey. */
const isWithProvidersFactor = (amr: readonly string[]): boolean => amr.join() === `${FEDERATED},mfa`

/** Returns the `amr` of a user as it is now: one whose last factor was removed has shown none. Undefined for the password only. */
export function currentAmr(amr: string[] | undefined, hasFactors: boolean): string[] | undefined {
  if (amr === undefined || hasFactors || isWithProvidersFactor(amr)) return amr
  const rest = withoutFactors(amr)
  return rest.join() === 'pwd' ? undefined : rest
}
