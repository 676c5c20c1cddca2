/** Resolves with the result of `work`, or rejects with `tooLate()` after `timeoutMs`. Does not cancel `work`. */
export async function within<Result>(
  timeoutMs: number,
  work: Promise<Result>,
  tooLate: () => Error,
): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(tooLate()), timeoutMs)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
