import { type AuditEventName, BY_ADMIN } from '@latchkey/shared/audit/audit-events.ts'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import type { Transaction } from '@latchkey/shared/database/database.ts'

/** Records in the audit trail what an admin does to a user, in the transaction that does it. */
export const recordEvent = (
  transaction: Transaction,
  name: AuditEventName,
  userid: string,
  now: number,
  reason: string = BY_ADMIN,
): Promise<void> => createAuditRepository(transaction).insert([{ name, userid, reason, at: new Date(now) }])
