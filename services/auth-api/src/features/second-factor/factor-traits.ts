import type { AuditEventName } from '@latchkey/shared/audit/audit-events.ts'
import type { Transaction } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { FactorRefusal } from '../../limits/factor-limiter.ts'

/** What the limits, the metrics and the audit trail know of a kind of factor. */
export interface FactorTraits {
  /** The kind in the table `user_factor`, in the list of a user's factors and in the metrics. */
  name: string
  /** True for a short code. The guesses of a day, and of all days after one password, are limited too then. */
  isGuessable?: boolean
  /** The code of an attempt that is refused, and its event. Default: those of a code. */
  refusal?: { code: FactorRefusal; name: AuditEventName }
}

/**
 * Shows that the user has a factor, inside a transaction that has locked the user; returns how, as `amr` says it (RFC 8176).
 * Throws the refusal of its kind.
 */
export type VerifyFactor = (transaction: Transaction, user: User) => Promise<readonly string[]>

/** The audit trail of an attempt to show a factor. */
export type FactorAudit = Pick<RequestAudit, 'report' | 'write' | 'address'>
