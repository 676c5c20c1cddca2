import { type Columns, namesOf, toInsert } from '@latchkey/shared/database/columns.ts'
import type { Queryable } from '@latchkey/shared/database/database.ts'
import {
  CODE_COLUMNS,
  type CodeRow,
  type CodeTable,
  createCodeRepository,
  type Dated,
  type StoredCode,
  toStoredCode,
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
  email_key: string
  email: string
  username: string
  name: string | null
  language: Language
  password_hash: string
  token_hash: string
}

const COLUMNS: Columns<Dated<SignUp>, keyof SignUpRow> = {
  ...CODE_COLUMNS,
  email_key: ({ email }) => fold(email),
  email: ({ email }) => email.normalize('NFC'),
  username: ({ username }) => username.normalize('NFC'),
  name: ({ name }) => name ?? null,
  language: ({ language }) => language,
  password_hash: ({ passwordHash }) => passwordHash,
  token_hash: ({ tokenHash }) => tokenHash,
}

/** The table of the sign-ups. A later one of the same e-mail does not end an earlier one: a stranger may have requested it. */
const SIGN_UPS: CodeTable<SignUp, SignUpRow> = {
  columns: COLUMNS,
  statements: {
    insert: { name: 'sign_up-insert', text: `insert into sign_up ${toInsert(COLUMNS)}` },
    find: {
      name: 'sign_up-find',
      text: `select ${namesOf(COLUMNS)}
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
  fromRow: (row, db) => ({
    ...toStoredCode(row, db),
    email: row.email,
    username: row.username,
    name: row.name ?? undefined,
    language: row.language,
    passwordHash: row.password_hash,
    tokenHash: row.token_hash,
  }),
}

/** Creates the repository of sign-ups. Given a transaction, it works inside that transaction. */
export const createSignUpRepository = (db: Queryable) => createCodeRepository(db, SIGN_UPS)
