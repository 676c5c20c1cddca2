import type { Queryable, Statement } from '../database/database.ts'
import { type CodeRow, type CodeTable, createCodeRepository, type StoredCode } from './code-repository.ts'
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

/** The table of the resets: the code confirms a reset, and setting the password uses it. */
const RESETS: CodeTable<Reset, ResetRow> = {
  statements: {
    insert: {
      name: 'password_reset-insert',
      text: `insert into password_reset
        (id, code_hash, created_at, expires_at, userid, email, token_hash, confirmed_at, used_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    },
    find: {
      name: 'password_reset-newest',
      text: `select id, code_hash, expires_at, userid, email, token_hash, confirmed_at, used_at
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
  toValues: (reset, now, db) => [
    db.toUuidValue(reset.id),
    reset.codeHash,
    now,
    reset.expiresAt,
    db.toUuidValue(reset.userid),
    reset.email,
    reset.tokenHash,
    null,
    null,
  ],
  fromRow: (row, db) => ({
    id: db.fromUuidValue(row.id),
    codeHash: row.code_hash,
    expiresAt: row.expires_at,
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

export type ResetRepository = ReturnType<typeof createResetRepository>

/** Creates the repository of password resets. Given a transaction, it works inside that transaction. */
export const createResetRepository = (db: Queryable) => ({
  ...createCodeRepository(db, RESETS),

  /** Confirms a reset; true for the one call that does. */
  confirm: async (id: string, now: Date, tokenHash: string): Promise<boolean> =>
    (await db.execute(CONFIRM, [db.toUuidValue(id), now, tokenHash])) === 1,

  /** Counts a new password for a confirmed reset together with its codes; false when none is left or the reset has ended. */
  countNewPassword: async (id: string, maximum: number, now: Date): Promise<boolean> =>
    (await db.execute(COUNT_HASH, [db.toUuidValue(id), maximum, now])) === 1,
})
