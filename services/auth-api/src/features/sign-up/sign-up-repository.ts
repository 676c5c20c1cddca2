import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import type { Language } from '@latchkey/shared/users/user.ts'

/** One row of `sign_up`. */
export interface PendingSignUp {
  id: string
  email: string
  username: string
  name: string | undefined
  language: Language
  passwordHash: string
  tokenHash: string
  codeHash: string
  expiresAt: Date
}

interface SignUpRow {
  id: unknown
  email: string
  username: string
  name: string | null
  language: Language
  password_hash: string
  token_hash: string
  code_hash: string
  expires_at: Date
}

const INSERT: Statement = {
  name: 'sign-up-insert',
  text: `insert into sign_up
    (id, email_key, email, username, name, language, password_hash, token_hash, code_hash, created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
}

const FIND_NEWEST: Statement = {
  name: 'sign-up-newest',
  text: `select id, email, username, name, language, password_hash, token_hash, code_hash, expires_at from sign_up
    where email_key = $1 order by created_at desc, id desc limit 1`,
}

const COUNT_ATTEMPT: Statement = {
  name: 'sign-up-count-attempt',
  text: 'update sign_up set attempts = attempts + 1 where id = $1 and attempts < $2 and expires_at > $3',
}

const REMOVE: Statement = {
  name: 'sign-up-remove',
  text: 'delete from sign_up where id = $1 and expires_at > $2',
}

export type SignUpRepository = ReturnType<typeof createSignUpRepository>

/** The sign-ups that wait for their code. Given a transaction, it works inside that transaction. */
export function createSignUpRepository(db: Queryable) {
  return {
    async insert(pending: PendingSignUp, now: Date): Promise<void> {
      const { id, email, username, name, language, passwordHash, tokenHash, codeHash, expiresAt } = pending
      const texts = [fold(email), email.normalize('NFC'), username.normalize('NFC'), name ?? null]
      const values = [...texts, language, passwordHash, tokenHash, codeHash, now, expiresAt]
      await db.execute(INSERT, [db.toUuidValue(id), ...values])
    },

    /** The newest sign-up of the e-mail, which is the only valid one; it may have expired. */
    async findNewest(email: string): Promise<PendingSignUp | undefined> {
      const [row] = await db.query<SignUpRow>(FIND_NEWEST, [fold(email)])
      if (!row) return undefined
      return {
        id: db.fromUuidValue(row.id),
        email: row.email,
        username: row.username,
        name: row.name ?? undefined,
        language: row.language,
        passwordHash: row.password_hash,
        tokenHash: row.token_hash,
        codeHash: row.code_hash,
        expiresAt: row.expires_at,
      }
    },

    /** Counts an attempt; false when none is left or the sign-up has ended. */
    countAttempt: async (id: string, maximum: number, now: Date): Promise<boolean> =>
      (await db.execute(COUNT_ATTEMPT, [db.toUuidValue(id), maximum, now])) === 1,

    /** Ends a sign-up; true for the one call that does. */
    remove: async (id: string, now: Date): Promise<boolean> =>
      (await db.execute(REMOVE, [db.toUuidValue(id), now])) === 1,
  }
}
