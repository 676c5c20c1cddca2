import { changeRow } from '../database/change-row.ts'
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
import { fold } from './user.ts'

/** A requested password reset. */
export interface Reset extends StoredCode {
  /** The user's id; a random one for an unknown e-mail. */
  userid: string
  /** The e-mail, folded. */
  email: string
  tokenHash: string
  confirmedAt?: Date | undefined
  usedAt?: Date | undefined
}

interface ResetRow extends CodeRow {
  userid: unknown
  email: string
  token_hash: string
  confirmed_at: Date | null
  used_at: Date | null
}

const COLUMNS: Columns<Dated<Reset>, keyof ResetRow> = {
  ...CODE_COLUMNS,
  userid: ({ userid }, db) => db.toUuidValue(userid),
  email: ({ email }) => email,
  token_hash: ({ tokenHash }) => tokenHash,
  confirmed_at: () => null,
  used_at: () => null,
}

/** The table of the resets: the code confirms a reset, and setting the password uses it. */
const RESETS: CodeTable<Reset, ResetRow> = {
  columns: COLUMNS,
  statements: {
    insert: { name: 'password_reset-insert', text: `insert into password_reset ${toInsert(COLUMNS)}` },
    find: {
      name: 'password_reset-newest',
      text: `select ${namesOf(COLUMNS)}
        from password_reset where email = $1 order by created_at desc, id desc limit 1`,
    },
    countAttempt: {
      name: 'password_reset-count-attempt',
      text: `update password_reset set attempts = attempts + 1
        where id = $1 and attempts < $2 and expires_at > $3 and confirmed_at is null and used_at is null`,
    },
    use: {
      name: 'password_reset-use',
      text: `update password_reset set used_at = $2
        where id = $1 and expires_at > $2 and confirmed_at is not null and used_at is null`,
    },
  },
  toKey: fold,
  fromRow: (row, db) => ({
    ...toStoredCode(row, db),
    userid: db.fromUuidValue(row.userid),
    email: row.email,
    tokenHash: row.token_hash,
    confirmedAt: row.confirmed_at ?? undefined,
    usedAt: row.used_at ?? undefined,
  }),
}

const CONFIRM: Statement = {
  name: 'password_reset-confirm',
  text: `update password_reset set confirmed_at = $2, token_hash = $3
    where id = $1 and confirmed_at is null and used_at is null and expires_at > $2`,
}

const COUNT_HASH: Statement = {
  name: 'password_reset-count-hash',
  text: `update password_reset set attempts = attempts + 1
    where id = $1 and attempts < $2 and confirmed_at is not null and used_at is null and expires_at > $3`,
}

const END_ALL: Statement = {
  name: 'password_reset-end-all',
  text: 'update password_reset set used_at = $2 where userid = $1 and used_at is null',
}

/** Creates the repository of password resets. Given a transaction, it works inside that transaction. */
export const createResetRepository = (db: Queryable) => ({
  ...createCodeRepository(db, RESETS),

  /** Confirms a reset; true for the one call that does. */
  confirm: (id: string, now: Date, tokenHash: string) => changeRow(db, CONFIRM, id, now, tokenHash),

  /** Counts a new password for a confirmed reset together with its codes; false when none is left or the reset has ended. */
  countNewPassword: (id: string, maximum: number, now: Date) => changeRow(db, COUNT_HASH, id, maximum, now),

  /** Ends every reset of a user, also one whose code is confirmed. */
  endAll: (userid: string, now: Date): Promise<number> => db.execute(END_ALL, [db.toUuidValue(userid), now]),
})
