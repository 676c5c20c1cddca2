import type { AuditEvent } from '@latchkey/shared/audit/audit-events.ts'
import type { Transaction } from '@latchkey/shared/database/database.ts'
import { AppError, type ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import type { AuditTrail } from './audit-trail.ts'

/** An event of a request. */
export type RequestEvent = Pick<AuditEvent, 'name' | 'userid' | 'reason'>

/** The origin of the events of a request. */
export interface RequestOrigin {
  /** The client's address: IPv4, or the /64 of IPv6. */
  address: string
  /** The name that the client gives itself: at most 200 printable characters of ASCII. Any client can send any text. */
  agent: string
  requestId: string
}

/** The audit trail of one request. */
export interface RequestAudit extends Pick<RequestOrigin, 'address' | 'agent'> {
  /** Records an event soon. Returns at once and never throws. */
  report(event: RequestEvent): void
  /** Records an event in the transaction that it is about. */
  write(transaction: Transaction, event: RequestEvent): Promise<void>
}

/** Adds to each event where its request came from. */
export const createRequestAudit = (
  trail: Pick<AuditTrail, 'report' | 'write'>,
  { agent, ...origin }: RequestOrigin,
): RequestAudit => ({
  address: origin.address,
  agent,
  report: (event) => trail.report({ ...event, ...origin }),
  write: (transaction, event) => trail.write(transaction, { ...event, ...origin }),
})

/** Runs `work`, and reports an event when it throws `code`. */
export async function reportRefusal<Result>(
  audit: Pick<RequestAudit, 'report'>,
  { code, ...event }: RequestEvent & { code: ErrorCode },
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError && error.code === code) audit.report(event)
    throw error
  }
}
