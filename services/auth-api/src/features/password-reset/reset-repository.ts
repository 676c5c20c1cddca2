import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'

/** One row of `password_reset`. */
export interface Reset {
  id: string
  /** Random for an unknown e-mail. */
  userid: string
  /** Folded. */
  email: string
  tokenHash: string
  codeHash: string
  expiresAt: Date
  confirmedAt: Date | undefined
  usedAt: Date | undefined
}

interface ResetRow {
  id: unknown
  userid: unknown
  email: string
  token_hash: string
  code_hash: string
  expires_at: Date
  confirmed_at: Date | null
  used_at: Date | null
}

const INSERT: Statement = {
  name: 'reset-insert',
  text: `insert into password_reset (id, userid, email, token_hash, code_hash, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7)`,
}

const CLOSE_OLDER: Statement = {
  name: 'reset-close-older',
  text: `update password_reset set expires_at = $3 where email = $1 and used_at is null and expires_at > $3
    and (created_at < $3 or (created_at = $3 and id < $2))`,
}

const FIND_NEWEST: Statement = {
  name: 'reset-newest',
  text: `select id, userid, email, token_hash, code_hash, expires_at, confirmed_at, used_at
    from password_reset where email = $1 order by created_at desc, id desc limit 1`,
}

const COUNT_ATTEMPT: Statement = {
  name: 'reset-count-attempt',
  text: `update password_reset set attempts = attempts + 1
    where id = $1 and attempts < $2 and confirmed_at is null and used_at is null and expires_at > $3`,
}

const COUNT_HASH: Statement = {
  name: 'reset-count-hash',
  text: `update password_reset set attempts = attempts + 1
    where id = $1 and attempts < $2 and confirmed_at is not null and used_at is null and expires_at > $3`,
}

const CONFIRM: Statement = {
  name: 'reset-confirm',
  text: `update password_reset set confirmed_at = $2, token_hash = $3
    where id = $1 and confirmed_at is null and used_at is null and expires_at > $2`,
}

const USE: Statement = {
  name: 'reset-use',
  text: `update password_reset set used_at = $2
    where id = $1 and confirmed_at is not null and used_at is null and expires_at > $2`,
}

const END_ALL: Statement = {
  name: 'reset-end-all',
  text: 'update password_reset set used_at = $2 where userid = $1 and used_at is null',
}

export type ResetRepository = ReturnType<typeof createResetRepository>

/** The password resets. Given a transaction, it works inside that transaction. */
export function createResetRepository(db: Queryable) {
  return {
    async insert(
      reset: Pick<Reset, 'id' | 'userid' | 'email' | 'tokenHash' | 'codeHash' | 'expiresAt'>,
      now: Date,
    ) {
      const { id, userid, email, tokenHash, codeHash, expiresAt } = reset
      const ids = [db.toUuidValue(id), db.toUuidValue(userid)]
      await db.execute(INSERT, [...ids, email, tokenHash, codeHash, now, expiresAt])
    },

    /**
     * Ends the resets of this e-mail that were requested before `id`, which was requested at `now`. It orders them as
     * `findNewest` does: a reset that was requested earlier but stored later must not end the newest.
     */
    closeOlder: (email: string, id: string, now: Date) =>
      db.execute(CLOSE_OLDER, [email, db.toUuidValue(id), now]),

    /**
     * The newest reset of this e-mail in any state, which is the only valid one. Two concurrent requests may both stay
     * open; only one of them is the newest.
     */
    async findNewest(email: string): Promise<Reset | undefined> {
      const [row] = await db.query<ResetRow>(FIND_NEWEST, [email])
      return row && toReset(db, row)
    },

    /** Counts an attempt; false when none is left or the reset has ended. */
    countAttempt: async (id: string, maximum: number, now: Date): Promise<boolean> =>
      (await db.execute(COUNT_ATTEMPT, [db.toUuidValue(id), maximum, now])) === 1,

    /** Counts a new password for a confirmed reset together with its codes; false when none is left or the reset has ended. */
    countHash: async (id: string, maximum: number, now: Date): Promise<boolean> =>
      (await db.execute(COUNT_HASH, [db.toUuidValue(id), maximum, now])) === 1,

    /** True for the one call that confirms it. */
    confirm: async (id: string, now: Date, tokenHash: string): Promise<boolean> =>
      (await db.execute(CONFIRM, [db.toUuidValue(id), now, tokenHash])) === 1,

    /** True for the one call that uses it. */
    use: async (id: string, now: Date): Promise<boolean> =>
      (await db.execute(USE, [db.toUuidValue(id), now])) === 1,

    /** Ends every open reset of the user. */
    endAll: (userid: string, now: Date) => db.execute(END_ALL, [db.toUuidValue(userid), now]),
  }
}

const toReset = (db: Queryable, row: ResetRow): Reset => ({
  id: db.fromUuidValue(row.id),
  // Earlier releases store null for an unknown e-mail. No user has the id of a reset.
  userid: db.fromUuidValue(row.userid ?? row.id),
  email: row.email,
  tokenHash: row.token_hash,
  codeHash: row.code_hash,
  expiresAt: row.expires_at,
  confirmedAt: row.confirmed_at ?? undefined,
  usedAt: row.used_at ?? undefined,
})
