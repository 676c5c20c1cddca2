import { MULTI_FACTOR } from './require-login.ts'

/** The members of `amr` that a second factor adds (RFC 8176 §2). */
const OF_FACTORS: readonly string[] = ['otp', 'hwk', 'swk', 'user', MULTI_FACTOR]

/** What `amr` says without the second factors. */
export const withoutFactors = (amr: readonly string[]): string[] =>
  amr.filter((method) => !OF_FACTORS.includes(method))

/** What `amr` still says of a user: one whose last factor was removed has shown none. Undefined for the password only. */
export function currentAmr(amr: string[] | undefined, hasFactors: boolean): string[] | undefined {
  if (amr === undefined || hasFactors) return amr
  const rest = withoutFactors(amr)
  return rest.join() === 'pwd' ? undefined : rest
}
