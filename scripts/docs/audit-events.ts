import { AUDIT_EVENTS, type AuditEventName, isOpenEvent } from '@latchkey/shared/audit/audit-events.ts'
import { code, formatTable } from './markdown.ts'

/** One row for each event of the audit trail. */
export function formatAuditEvents(): string {
  const names = Object.keys(AUDIT_EVENTS) as AuditEventName[]
  const rows = names.map((name) => [
    code(name),
    isOpenEvent(name) ? 'yes' : '',
    AUDIT_EVENTS[name].description,
  ])
  return formatTable(['event', 'open', 'meaning'], rows)
}
