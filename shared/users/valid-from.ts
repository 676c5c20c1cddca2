import { toNumericDate } from '../clock.ts'
import { VALID_FROM_PROPERTY } from './user.ts'
import type { UserRepository } from './user-repository.ts'

/**
 * The valid-from mark for a change at `now`, in milliseconds: every token issued until then becomes invalid.
 * `iat` has whole seconds, and a login may have read the user just before the change is committed, so the mark
 * is one to two seconds ahead. A token issued after the change has at least the mark as its `iat`.
 */
export const validFromAfter = (now: number): number => toNumericDate(now) + 2

/** Ends every token issued to the user until `now`, in milliseconds. Needs a transaction that has locked the user. */
export const endTokens = (
  users: Pick<UserRepository, 'setProperty'>,
  userid: string,
  now: number,
): Promise<void> => users.setProperty(userid, VALID_FROM_PROPERTY, String(validFromAfter(now)))
