import type { AuditEvent } from '@latchkey/shared/audit/audit-events.ts'
import type { Transaction } from '@latchkey/shared/database/database.ts'
import type { FastifyRequest } from 'fastify'
import { addressKey } from '../limits/limit-keys.ts'
import type { AuditTrail } from './audit-trail.ts'

/** What happened in a request. */
export type RequestEvent = Pick<AuditEvent, 'name' | 'userid' | 'reason'>

/** The audit trail of one request. */
export interface RequestAudit {
  /** The client's: an IPv4 address or an IPv6 /64. */
  address: string
  /** Records an event soon. Returns at once and never throws. */
  report(event: RequestEvent): void
  /** Records an event in the transaction that it is about. */
  write(transaction: Transaction, event: RequestEvent): Promise<void>
}

/** Adds to each event where its request came from. */
export function createRequestAudit(
  trail: Pick<AuditTrail, 'report' | 'write'>,
  request: FastifyRequest,
): RequestAudit {
  const from = { address: addressKey(request), requestId: request.id }
  return {
    address: from.address,
    report: (event) => trail.report({ ...event, ...from }),
    write: (transaction, event) => trail.write(transaction, { ...event, ...from }),
  }
}
