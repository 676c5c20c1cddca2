import type { Queryable } from '../database/database.ts'
import { type CodeRow, type CodeTable, createCodeRepository, type StoredCode } from './code-repository.ts'

/** A requested change of e-mail. */
export interface EmailChange extends StoredCode {
  userid: string
  email: string
  /** What guarded the account when the change was requested. */
  begunUnder: string | undefined
}

interface EmailChangeRow extends CodeRow {
  userid: unknown
  email: string
  begun_under: string | null
}

/** The table of the changes of e-mail. */
const EMAIL_CHANGES: CodeTable<EmailChange, EmailChangeRow> = {
  statements: {
    insert: {
      name: 'email_change-insert',
      text: `insert into email_change (id, code_hash, created_at, expires_at, userid, email, begun_under)
        values ($1, $2, $3, $4, $5, $6, $7)`,
    },
    find: {
      name: 'email_change-newest',
      text: `select id, code_hash, expires_at, userid, email, begun_under
        from email_change where userid = $1 and used_at is null order by created_at desc, id desc limit 1`,
    },
    countAttempt: {
      name: 'email_change-count-attempt',
      text: `update email_change set attempts = attempts + 1
        where id = $1 and attempts < $2 and expires_at > $3 and used_at is null`,
    },
    use: {
      name: 'email_change-use',
      text: 'update email_change set used_at = $2 where id = $1 and expires_at > $2 and used_at is null',
    },
  },
  toKey: (userid, db) => db.toUuidValue(userid),
  toValues: (change, now, db) => [
    db.toUuidValue(change.id),
    change.codeHash,
    now,
    change.expiresAt,
    db.toUuidValue(change.userid),
    change.email.normalize('NFC'),
    change.begunUnder ?? null,
  ],
  fromRow: (row, db) => ({
    id: db.fromUuidValue(row.id),
    codeHash: row.code_hash,
    expiresAt: row.expires_at,
    userid: db.fromUuidValue(row.userid),
    email: row.email,
    begunUnder: row.begun_under ?? undefined,
  }),
}

export type EmailChangeRepository = ReturnType<typeof createEmailChangeRepository>

/** Creates the repository of changes of e-mail. Given a transaction, it works inside that transaction. */
export const createEmailChangeRepository = (db: Queryable) => createCodeRepository(db, EMAIL_CHANGES)
