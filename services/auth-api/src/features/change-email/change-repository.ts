import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'

/** One row of `email_change`. */
export interface EmailChange {
  id: string
  userid: string
  email: string
  codeHash: string
  expiresAt: Date
}

interface ChangeRow {
  id: unknown
  email: string
  code_hash: string
  expires_at: Date
}

const INSERT: Statement = {
  name: 'email-change-insert',
  text: `insert into email_change (id, userid, email, code_hash, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6)`,
}

const FIND_NEWEST: Statement = {
  name: 'email-change-newest',
  text: `select id, email, code_hash, expires_at from email_change
    where userid = $1 and used_at is null order by created_at desc, id desc limit 1`,
}

const COUNT_ATTEMPT: Statement = {
  name: 'email-change-count-attempt',
  text: `update email_change set attempts = attempts + 1
    where id = $1 and attempts < $2 and used_at is null and expires_at > $3`,
}

const USE: Statement = {
  name: 'email-change-use',
  text: 'update email_change set used_at = $2 where id = $1 and used_at is null and expires_at > $2',
}

const END_ALL: Statement = {
  name: 'email-change-end-all',
  text: 'update email_change set used_at = $2 where userid = $1 and used_at is null',
}

export type ChangeRepository = ReturnType<typeof createChangeRepository>

/** The requested changes of e-mail. Given a transaction, it works inside that transaction. */
export function createChangeRepository(db: Queryable) {
  return {
    async insert({ id, userid, email, codeHash, expiresAt }: EmailChange, now: Date): Promise<void> {
      const ids = [db.toUuidValue(id), db.toUuidValue(userid)]
      await db.execute(INSERT, [...ids, email.normalize('NFC'), codeHash, now, expiresAt])
    },

    /** The newest unused change of the user, which is the only valid one; it may have expired. */
    async findNewest(userid: string): Promise<EmailChange | undefined> {
      const [row] = await db.query<ChangeRow>(FIND_NEWEST, [db.toUuidValue(userid)])
      if (!row) return undefined
      const { email, code_hash: codeHash, expires_at: expiresAt } = row
      return { id: db.fromUuidValue(row.id), userid, email, codeHash, expiresAt }
    },

    /** Counts an attempt; false when none is left or the change has ended. */
    countAttempt: async (id: string, maximum: number, now: Date): Promise<boolean> =>
      (await db.execute(COUNT_ATTEMPT, [db.toUuidValue(id), maximum, now])) === 1,

    /** True for the one call that uses it. */
    use: async (id: string, now: Date): Promise<boolean> =>
      (await db.execute(USE, [db.toUuidValue(id), now])) === 1,

    /** Ends every open change of the user. */
    endAll: (userid: string, now: Date) => db.execute(END_ALL, [db.toUuidValue(userid), now]),
  }
}
