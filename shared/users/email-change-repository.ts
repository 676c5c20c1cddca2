import { type Columns, namesOf, toInsert } from '../database/columns.ts'
import type { Queryable, Statement } from '../database/database.ts'
import {
  CODE_COLUMNS,
  type CodeRow,
  type CodeTable,
  createCodeRepository,
  type Dated,
  type StoredCode,
  toStoredCode,
} from './code-repository.ts'

/** A requested change of e-mail. */
export interface EmailChange extends StoredCode {
  userid: string
  email: string
  /** The guards of the account when the change was requested, as `AccountGuard` describes them. */
  begunUnder: string | undefined
}

/** A change of e-mail that waits for the code of its mail. */
export interface PendingEmail {
  email: string
  requestedAt: Date
  expiresAt: Date
}

interface EmailChangeRow extends CodeRow {
  userid: unknown
  email: string
  begun_under: string | null
}

interface PendingRow {
  email: string
  created_at: Date
  expires_at: Date
}

const COLUMNS: Columns<Dated<EmailChange>, keyof EmailChangeRow> = {
  ...CODE_COLUMNS,
  userid: ({ userid }, db) => db.toUuidValue(userid),
  email: ({ email }) => email.normalize('NFC'),
  begun_under: ({ begunUnder }) => begunUnder ?? null,
}

/** The table of the changes of e-mail. */
const EMAIL_CHANGES: CodeTable<EmailChange, EmailChangeRow> = {
  columns: COLUMNS,
  statements: {
    insert: { name: 'email_change-insert', text: `insert into email_change ${toInsert(COLUMNS)}` },
    find: {
      name: 'email_change-newest',
      text: `select ${namesOf(COLUMNS)}
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
  fromRow: (row, db) => ({
    ...toStoredCode(row, db),
    userid: db.fromUuidValue(row.userid),
    email: row.email,
    begunUnder: row.begun_under ?? undefined,
  }),
}

const END_ALL: Statement = {
  name: 'email_change-end-all',
  text: 'update email_change set used_at = $2 where userid = $1 and used_at is null',
}

const FIND_PENDING: Statement = {
  name: 'email_change-pending',
  text: `select email, created_at, expires_at from email_change
    where userid = $1 and used_at is null and expires_at > $2 order by created_at desc, id desc limit 1`,
}

/** Selects the address that a user can still confirm, as a part of another statement. Its arguments are SQL. */
export const selectPendingEmail = ({
  userid,
  now,
  attempts,
}: Record<'userid' | 'now' | 'attempts', string>) =>
  `(select c.email from email_change c where c.userid = ${userid} and c.used_at is null and c.expires_at > ${now}
      and c.attempts < ${attempts}
    order by c.created_at desc, c.id desc limit 1)`

/** Creates the repository of changes of e-mail. Given a transaction, it works inside that transaction. */
export const createEmailChangeRepository = (db: Queryable) => ({
  ...createCodeRepository(db, EMAIL_CHANGES),

  /** Ends the requested changes of a user's e-mail. */
  endAll: (userid: string, now: Date): Promise<number> => db.execute(END_ALL, [db.toUuidValue(userid), now]),

  /** Finds the open change of a user's e-mail at `now`, also one whose attempts are used up. */
  async findPending(userid: string, now: Date): Promise<PendingEmail | undefined> {
    const [row] = await db.query<PendingRow>(FIND_PENDING, [db.toUuidValue(userid), now])
    return row && { email: row.email, requestedAt: row.created_at, expiresAt: row.expires_at }
  },
})
