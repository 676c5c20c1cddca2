/** Returns what `amr` says of the password alone: every other member is from a second factor (RFC 8176 §2). */
export const withoutFactors = (amr: readonly string[]): string[] => amr.filter((method) => method === 'pwd')

/** Returns the `amr` of a user as it is now: one whose last factor was removed has shown none. Undefined for the password only. */
export function currentAmr(amr: string[] | undefined, hasFactors: boolean): string[] | undefined {
  if (amr === undefined || hasFactors) return amr
  const rest = withoutFactors(amr)
  return rest.join() === 'pwd' ? undefined : rest
}
