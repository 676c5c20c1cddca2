/** Returns milliseconds since the epoch. Passed in wherever time matters, so that tests set it. */
export type Clock = () => number

/** Returns milliseconds since an arbitrary moment. It never goes back, so differences are durations. */
export type MonotonicClock = () => number

export const monotonicClock: MonotonicClock = () => performance.now()

/** Whole seconds since the epoch: a NumericDate (RFC 7519 §2). */
export const toNumericDate = (milliseconds: number): number => Math.floor(milliseconds / 1000)
