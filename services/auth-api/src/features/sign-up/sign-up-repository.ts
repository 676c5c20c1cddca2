import type { Queryable } from '@latchkey/shared/database/database.ts'
import {
  type CodeRow,
  type CodeTable,
  createCodeRepository,
  type StoredCode,
} from '@latchkey/shared/users/code-repository.ts'
import { fold, type Language } from '@latchkey/shared/users/user.ts'

/** A sign-up that waits for its code. */
export interface SignUp extends StoredCode {
  email: string
  username: string
  name: string | undefined
  language: Language
  passwordHash: string
  tokenHash: string
}

interface SignUpRow extends CodeRow {
  email: string
  username: string
  name: string | null
  language: Language
  password_hash: string
  token_hash: string
}

/** The table of the sign-ups. A later one of the same e-mail does not end an earlier one: a stranger may have requested it. */
const SIGN_UPS: CodeTable<SignUp, SignUpRow> = {
  statements: {
    insert: {
      name: 'sign_up-insert',
      text: `insert into sign_up (id, code_hash, created_at, expires_at,
          email_key, email, username, name, language, password_hash, token_hash)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    },
    find: {
      name: 'sign_up-find',
      text: `select id, code_hash, expires_at, email, username, name, language, password_hash, token_hash
        from sign_up where email_key = $1 order by created_at desc, id desc`,
    },
    countAttempt: {
      name: 'sign_up-count-attempt',
      text: `update sign_up set attempts = attempts + 1
        where id = $1 and attempts < $2 and expires_at > $3`,
    },
    // Deleted, because the row contains the hash of a password.
    use: { name: 'sign_up-use', text: 'delete from sign_up where id = $1 and expires_at > $2' },
  },
  toKey: fold,
  toValues: (signUp, now, db) => [
    db.toUuidValue(signUp.id),
    signUp.codeHash,
    now,
    signUp.expiresAt,
    fold(signUp.email),
    signUp.email.normalize('NFC'),
    signUp.username.normalize('NFC'),
    signUp.name ?? null,
    signUp.language,
    signUp.passwordHash,
    signUp.tokenHash,
  ],
  fromRow: (row, db) => ({
    id: db.fromUuidValue(row.id),
    codeHash: row.code_hash,
    expiresAt: row.expires_at,
    email: row.email,
    username: row.username,
    name: row.name ?? undefined,
    language: row.language,
    passwordHash: row.password_hash,
    tokenHash: row.token_hash,
  }),
}

export type SignUpRepository = ReturnType<typeof createSignUpRepository>

/** Creates the repository of sign-ups. Given a transaction, it works inside that transaction. */
export const createSignUpRepository = (db: Queryable) => createCodeRepository(db, SIGN_UPS)
