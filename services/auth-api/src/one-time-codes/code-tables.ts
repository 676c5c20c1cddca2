import { fold, type Language } from '@latchkey/shared/users/user.ts'
import { defineCodeTable, type StoredCode } from './code-repository.ts'

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

interface ResetRow {
  userid: unknown
  email: string
  token_hash: string
  confirmed_at: Date | null
  used_at: Date | null
}

/** The table of the resets: the code confirms a reset, and setting the password uses it. */
export const RESETS = defineCodeTable<Reset, ResetRow>({
  name: 'password_reset',
  key: 'email',
  toKey: fold,
  columns: ['userid', 'email', 'token_hash', 'confirmed_at', 'used_at'],
  toValues: ({ userid, email, tokenHash }, db) => [db.toUuidValue(userid), email, tokenHash, null, null],
  fromRow: ({ userid, email, token_hash, confirmed_at, used_at }, code, db) => ({
    ...code,
    userid: db.fromUuidValue(userid),
    email,
    tokenHash: token_hash,
    confirmedAt: confirmed_at ?? undefined,
    usedAt: used_at ?? undefined,
  }),
  isOpen: 'confirmed_at is null and used_at is null',
  isUsable: 'confirmed_at is not null and used_at is null',
  use: 'update password_reset set used_at = $2',
})

/** A requested change of e-mail. */
export interface EmailChange extends StoredCode {
  userid: string
  email: string
}

interface EmailChangeRow {
  userid: unknown
  email: string
}

/** The table of the changes of e-mail. */
export const EMAIL_CHANGES = defineCodeTable<EmailChange, EmailChangeRow>({
  name: 'email_change',
  key: 'userid',
  toKey: (userid, db) => db.toUuidValue(userid),
  columns: ['userid', 'email'],
  toValues: ({ userid, email }, db) => [db.toUuidValue(userid), email.normalize('NFC')],
  fromRow: ({ userid, email }, code, db) => ({ ...code, userid: db.fromUuidValue(userid), email }),
  isFindable: 'used_at is null',
  isOpen: 'used_at is null',
  isUsable: 'used_at is null',
  use: 'update email_change set used_at = $2',
})

/** A sign-up that waits for its code. */
export interface SignUp extends StoredCode {
  email: string
  username: string
  name: string | undefined
  language: Language
  passwordHash: string
  tokenHash: string
}

interface SignUpRow {
  email_key: string
  email: string
  username: string
  name: string | null
  language: Language
  password_hash: string
  token_hash: string
}

/** The table of the sign-ups: the code deletes one. */
export const SIGN_UPS = defineCodeTable<SignUp, SignUpRow>({
  name: 'sign_up',
  key: 'email_key',
  toKey: fold,
  columns: ['email_key', 'email', 'username', 'name', 'language', 'password_hash', 'token_hash'],
  toValues: ({ email, username, name = null, language, passwordHash, tokenHash }) => [
    fold(email),
    email.normalize('NFC'),
    username.normalize('NFC'),
    name,
    language,
    passwordHash,
    tokenHash,
  ],
  fromRow: ({ email, username, name, language, password_hash, token_hash }, code) => ({
    ...code,
    email,
    username,
    name: name ?? undefined,
    language,
    passwordHash: password_hash,
    tokenHash: token_hash,
  }),
  // Its row contains the hash of a password.
  use: 'delete from sign_up',
})
