import { type Columns, namesOf, valuesOf } from '../database/columns.ts'
import type { Queryable, Statement } from '../database/database.ts'
import { insertRows } from '../database/insert-rows.ts'
import type { AuditEvent, AuditEventName } from './audit-events.ts'

/** An event with its moment; of several equal ones, that of the last. */
export interface DatedEvent extends AuditEvent {
  at: Date
}

/** One row of `audit_event`. An earlier or later release may know other names. */
export interface StoredEvent extends Omit<DatedEvent, 'name' | 'count'> {
  name: string
  count: number
}

interface AuditRow {
  name: string
  userid: unknown
  address: string | null
  request_id: string | null
  reason: string | null
  event_count: number
  created_at: Date
}

/** The widths of the columns, in characters; a longer text is cut. */
const MAX_ADDRESS = 64
export const MAX_REASON = 100

const COLUMNS: Columns<DatedEvent, keyof AuditRow> = {
  name: ({ name }) => name,
  userid: ({ userid }, db) => (userid === undefined ? null : db.toUuidValue(userid)),
  address: ({ address }) => address?.slice(0, MAX_ADDRESS) ?? null,
  request_id: ({ requestId }) => requestId ?? null,
  reason: ({ reason }) => reason?.slice(0, MAX_REASON) ?? null,
  event_count: ({ count }) => count ?? 1,
  created_at: ({ at }) => at,
}

const FIND_NEWEST: Statement = {
  name: 'audit-newest',
  text: `select ${namesOf(COLUMNS)} from audit_event where userid = $1 order by created_at desc, id desc limit $2`,
}

const FIND_SINCE: Statement = {
  name: 'audit-since',
  text: 'select 1 as found from audit_event where userid = $1 and name = $2 and created_at > $3 limit 1',
}

/** Creates the repository of the audit trail. Given a transaction, it works inside that transaction. */
export function createAuditRepository(db: Queryable) {
  return {
    async insert(events: readonly DatedEvent[]): Promise<void> {
      const rows = events.map((event) => valuesOf(COLUMNS, event, db))
      await insertRows(db, 'audit_event', Object.keys(COLUMNS), rows)
    },

    /** Returns true if the user has such an event after `since`. */
    hasSince: async (userid: string, name: AuditEventName, since: Date): Promise<boolean> =>
      (await db.query(FIND_SINCE, [db.toUuidValue(userid), name, since])).length > 0,

    /** Finds the newest events of a user, newest first. */
    async findNewest(userid: string, limit: number): Promise<StoredEvent[]> {
      // As text: MySQL refuses the number type that mysql2 sends for a limit.
      const rows = await db.query<AuditRow>(FIND_NEWEST, [db.toUuidValue(userid), String(limit)])
      return rows.map((row) => ({
        name: row.name,
        userid,
        address: row.address ?? undefined,
        requestId: row.request_id ?? undefined,
        reason: row.reason ?? undefined,
        count: row.event_count,
        at: row.created_at,
      }))
    },
  }
}
