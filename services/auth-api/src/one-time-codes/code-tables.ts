import { fold, type Language } from '@latchkey/shared/users/user.ts'
import type { CodeRow, CodeTable, StoredCode } from './code-repository.ts'

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
export const RESETS: CodeTable<Reset, ResetRow> = {
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

/** A requested change of e-mail. */
export interface EmailChange extends StoredCode {
  userid: string
  email: string
}

interface EmailChangeRow extends CodeRow {
  userid: unknown
  email: string
}

/** The table of the changes of e-mail. */
export const EMAIL_CHANGES: CodeTable<EmailChange, EmailChangeRow> = {
  statements: {
    insert: {
      name: 'email_change-insert',
      text: `insert into email_change (id, code_hash, created_at, expires_at, userid, email)
        values ($1, $2, $3, $4, $5, $6)`,
    },
    find: {
      name: 'email_change-newest',
      text: `select id, code_hash, expires_at, userid, email
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
  ],
  fromRow: (row, db) => ({
    id: db.fromUuidValue(row.id),
    codeHash: row.code_hash,
    expiresAt: row.expires_at,
    userid: db.fromUuidValue(row.userid),
    email: row.email,
  }),
}

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
export const SIGN_UPS: CodeTable<SignUp, SignUpRow> = {
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
