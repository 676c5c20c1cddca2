import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { findBan, hasConfirmedEmail } from '@latchkey/shared/users/account-state.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { RequestAudit } from '../audit/request-audit.ts'

/** The errors of a login whose user may not have a token. */
export const ADMISSION_PROBLEMS = ['account_banned', 'email_unconfirmed'] as const

/**
 * Requires that a user who has shown everything may have a token at `now`, in milliseconds. Every token passes here. Throws
 * `account_banned` and `email_unconfirmed`: nobody sees them who has not shown what a login needs.
 */
export function requireAdmitted(
  user: Pick<User, 'userid' | 'properties'>,
  now: number,
  audit?: Pick<RequestAudit, 'report'>,
): void {
  const refusal = findRefusal(user, now)
  if (!refusal) return
  audit?.report({ name: 'login.refused', userid: user.userid, reason: refusal.code })
  throw refusal
}

function findRefusal(user: Pick<User, 'properties'>, now: number): AppError | undefined {
  const ban = findBan(user, now)
  if (ban)
    return new AppError('account_banned', 'The account is banned', {
      details: { banned_until: ban.until?.toISOString() },
    })
  if (hasConfirmedEmail(user)) return undefined
  return new AppError('email_unconfirmed', 'The e-mail address is not confirmed')
}
