import { changeRow } from '../../database/change-row.ts'
import { type Columns, namesOf, toInsert, valuesOf } from '../../database/columns.ts'
import type { Queryable, Statement } from '../../database/database.ts'
import type { MailJob } from '../queue/mail-job.ts'

/** The columns of a mail that is accepted. */
const COLUMNS: Columns<Omit<OutboxEntry, 'dispatchedAt'>> = {
  id: ({ id }, db) => db.toUuidValue(id),
  payload: ({ payload }) => payload,
  created_at: ({ createdAt }) => createdAt,
  expires_at: ({ expiresAt }) => expiresAt,
}

const INSERT: Statement = { name: 'outbox-insert', text: `insert into mail_outbox ${toInsert(COLUMNS)}` }
const SELECT = `select ${namesOf(COLUMNS)}, dispatched_at from mail_outbox`

// These two sort in the order of the index, so that each reads no more rows than its limit: `dispatched_at` comes first also
// where it is always null.
const FIND_LEFT_BEHIND: Statement = {
  name: 'outbox-left-behind',
  text: `${SELECT}
    where dispatched_at is null and created_at < $1 order by dispatched_at, created_at limit $2 offset $3`,
}
const FIND_TO_RECHECK: Statement = {
  name: 'outbox-to-recheck',
  text: `${SELECT}
    where dispatched_at < $1 order by dispatched_at, created_at limit $2 offset $3`,
}
const FIND: Statement = { name: 'outbox-find', text: 'select 1 as found from mail_outbox where id = $1' }
const REMOVE: Statement = { name: 'outbox-remove', text: 'delete from mail_outbox where id = $1' }
// A decoy has expired before it is written: `expires_at > created_at` leaves it out. The last condition leaves out what failed.
const FIND_OLDEST: Statement = {
  name: 'outbox-oldest',
  text: `select created_at from mail_outbox
    where expires_at > created_at and (dispatched_at is null or dispatched_at <> expires_at)
    order by created_at limit 1`,
}
const FIND_OLDEST_UNDISPATCHED: Statement = {
  name: 'outbox-oldest-undispatched',
  text: `select created_at from mail_outbox where dispatched_at is null and expires_at > created_at
    order by dispatched_at, created_at limit 1`,
}

// A mail may fail before its writer records that the queue has it: what has failed stays so.
const MARK_DISPATCHED: Statement = {
  name: 'outbox-mark-dispatched',
  text: {
    postgres: `update mail_outbox set dispatched_at = $1
      where id = any($2) and (dispatched_at is null or dispatched_at <> expires_at)`,
    mysql: `update mail_outbox set dispatched_at = $1
      where id in ($2) and (dispatched_at is null or dispatched_at <> expires_at)`,
  },
}
// No search finds the row until the mail has expired, and an admin may retry the job until then.
const MARK_FAILED: Statement = {
  name: 'outbox-mark-failed',
  text: 'update mail_outbox set dispatched_at = expires_at where id = $1',
}
const REMOVE_ALL: Statement = {
  name: 'outbox-remove-all',
  text: {
    postgres: 'delete from mail_outbox where id = any($1)',
    mysql: 'delete from mail_outbox where id in ($1)',
  },
}

interface OutboxRow {
  id: unknown
  payload: string
  created_at: Date
  expires_at: Date
  dispatched_at: Date | null
}

/** A row as stored; `payload` is not validated. */
export interface OutboxEntry {
  id: string
  payload: string
  createdAt: Date
  expiresAt: Date
  /** The moment at which the queue was last known to have it; undefined if it never had it, `expiresAt` if it failed permanently. */
  dispatchedAt: Date | undefined
}

export interface DueQuery {
  /** Rows are due if they were written, or last dispatched, before this moment. */
  before: Date
  limit: number
  /** The number of due rows to skip, from the oldest. */
  offset: number
}

export type OutboxRepository = ReturnType<typeof createOutboxRepository>

/**
 * Mail that was accepted, and is neither sent nor expired: what is not here is not sent again. Given a transaction, it works
 * inside that transaction.
 */
export function createOutboxRepository(db: Queryable) {
  async function findCreatedAt(statement: Statement): Promise<Date | undefined> {
    const [row] = await db.query<Pick<OutboxRow, 'created_at'>>(statement)
    return row?.created_at
  }

  async function findDue(statement: Statement, { before, limit, offset }: DueQuery): Promise<OutboxEntry[]> {
    // As text: MySQL refuses the number type that mysql2 sends for a limit.
    const rows = await db.query<OutboxRow>(statement, [before, String(limit), String(offset)])
    return rows.map((row) => ({
      id: db.fromUuidValue(row.id),
      payload: row.payload,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
      dispatchedAt: row.dispatched_at ?? undefined,
    }))
  }

  return {
    /** Stores the job under an id, which becomes the job's id in the queue. */
    async insert(id: string, job: MailJob, now: Date): Promise<void> {
      const entry = { id, payload: JSON.stringify(job), createdAt: now, expiresAt: new Date(job.expiresAt) }
      await db.execute(INSERT, valuesOf(COLUMNS, entry, db))
    },

    /** Finds rows that were never dispatched and were written before the given moment, oldest first. */
    findLeftBehind: (query: DueQuery): Promise<OutboxEntry[]> => findDue(FIND_LEFT_BEHIND, query),

    /** Finds rows that were last dispatched before the given moment, oldest dispatch first. */
    findToRecheck: (query: DueQuery): Promise<OutboxEntry[]> => findDue(FIND_TO_RECHECK, query),

    /** Records that the queue has the mails. */
    markDispatched: (ids: readonly string[], now: Date): Promise<number> =>
      db.execute(MARK_DISPATCHED, [now, ids.map(db.toUuidValue)]),

    /** Records that a mail failed permanently: only an admin has it sent again. */
    markFailed: (id: string): Promise<number> => db.execute(MARK_FAILED, [db.toUuidValue(id)]),

    /** Deletes the rows of several mails. */
    removeAll: (ids: readonly string[]): Promise<number> => db.execute(REMOVE_ALL, [ids.map(db.toUuidValue)]),

    /** Returns true if the mail may be sent. */
    has: async (id: string): Promise<boolean> => (await db.query(FIND, [db.toUuidValue(id)])).length > 0,

    /** Deletes the row of a settled mail; true for the one call that deletes it. */
    remove: (id: string) => changeRow(db, REMOVE, id),

    /** Finds the moment at which the oldest mail that is to be sent was accepted; undefined when there is none. */
    findOldest: (): Promise<Date | undefined> => findCreatedAt(FIND_OLDEST),

    /** Finds the moment at which the oldest of the mails that the queue never had was accepted. */
    findOldestUndispatched: (): Promise<Date | undefined> => findCreatedAt(FIND_OLDEST_UNDISPATCHED),
  }
}
