/** The result of `work`, or a rejection with `tooLate()` after `timeoutMs`; `work` itself goes on. */
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
