/** Returns milliseconds since the epoch. Passed in wherever time matters, so that tests set it. */
export type Clock = () => number

/** Returns milliseconds since an arbitrary moment. It never goes back, so differences are durations. */
export type MonotonicClock = () => number

export const monotonicClock: MonotonicClock = () => performance.now()

/** Whole seconds since the epoch: a NumericDate (RFC 7519 §2). */
export const toNumericDate = (milliseconds: number): number => Math.floor(milliseconds / 1000)

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
