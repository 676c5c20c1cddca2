import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'

/** A change of e-mail that waits for the code of its mail. */
export interface PendingEmail {
  email: string
  requestedAt: Date
  expiresAt: Date
}

interface PendingRow {
  email: string
  created_at: Date
  expires_at: Date
}

const FIND: Statement = {
  name: 'admin-pending-email',
  text: `select email, created_at, expires_at from email_change
    where userid = $1 and used_at is null and expires_at > $2 order by created_at desc, id desc limit 1`,
}

export const createPendingEmailRepository = (db: Queryable) => ({
  /** The open change of a user's e-mail at `now`. */
  async find(userid: string, now: Date): Promise<PendingEmail | undefined> {
    const [row] = await db.query<PendingRow>(FIND, [db.toUuidValue(userid), now])
    return row && { email: row.email, requestedAt: row.created_at, expiresAt: row.expires_at }
  },
})
