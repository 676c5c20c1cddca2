import { toNumericDate } from '../clock.ts'

/**
 * The valid-from mark for a change at `now`, in milliseconds: every token issued until then becomes invalid.
 * `iat` has whole seconds, and a login may have read the user just before the change is committed, so the mark
 * is one to two seconds ahead. A token issued after the change has at least the mark as its `iat`.
 */
export const validFromAfter = (now: number): number => toNumericDate(now) + 2
