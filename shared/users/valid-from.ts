import { toNumericDate } from '../clock.ts'

/**
 * The valid-from mark for a change made at `now` (milliseconds): no token issued up to then stays valid.
 * `iat` has whole seconds, and a login may have read the user just before the change is committed, so the mark
 * lies one to two seconds ahead. A token issued after the change carries at least the mark as its `iat`.
 */
export const validFromAfter = (now: number): number => toNumericDate(now) + 2
