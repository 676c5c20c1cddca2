import { randomUUID } from 'node:crypto'
import type { Queryable, Statement } from '../database/database.ts'
import type { MailJob } from './mail-job.ts'

const INSERT: Statement = {
  name: 'outbox-insert',
  text: 'insert into mail_outbox (id, payload, created_at, expires_at) values ($1, $2, $3, $4)',
}
const FIND_OLDER: Statement = {
  name: 'outbox-older',
  text: `select id, payload, created_at, expires_at from mail_outbox
    where created_at < $1 order by created_at limit 100`,
}
const REMOVE: Statement = { name: 'outbox-remove', text: 'delete from mail_outbox where id = $1' }
const COUNT: Statement = { name: 'outbox-count', text: 'select count(*) as waiting from mail_outbox' }

interface OutboxRow {
  id: unknown
  payload: string
  created_at: Date
  expires_at: Date
}

/** A row as it was written; `payload` has not been checked. */
export interface OutboxEntry {
  id: string
  payload: string
  createdAt: Date
  expiresAt: Date
}

export type OutboxRepository = ReturnType<typeof createOutboxRepository>

/** Mail that is accepted and not queued yet. Given a transaction, it works inside that transaction. */
export function createOutboxRepository(db: Queryable) {
  return {
    /** Stores the job under a fresh id, which becomes the job's id in the queue; returns it. */
    async insert(job: MailJob, now: Date = new Date()): Promise<string> {
      const id = randomUUID()
      await db.execute(INSERT, [db.toUuidValue(id), JSON.stringify(job), now, new Date(job.expiresAt)])
      return id
    },

    /** The oldest rows written before `moment`, a hundred at the most. */
    async findOlderThan(moment: Date): Promise<OutboxEntry[]> {
      const rows = await db.query<OutboxRow>(FIND_OLDER, [moment])
      return rows.map((row) => ({
        id: db.fromUuidValue(row.id),
        payload: row.payload,
        createdAt: row.created_at,
        expiresAt: row.expires_at,
      }))
    },

    /** Takes out a row that the queue has; true when it was this call that did. */
    remove: async (id: string): Promise<boolean> => (await db.execute(REMOVE, [db.toUuidValue(id)])) > 0,

    async count(): Promise<number> {
      const [row] = await db.query<{ waiting: number | string }>(COUNT)
      return Number(row?.waiting ?? 0)
    },
  }
}
