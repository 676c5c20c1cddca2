import { changeRow } from '@latchkey/shared/database/change-row.ts'
import { type Columns, namesOf, toInsert } from '@latchkey/shared/database/columns.ts'
import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'
import {
  CODE_COLUMNS,
  type CodeRow,
  type CodeTable,
  createCodeRepository,
  type Dated,
  type StoredCode,
  toStoredCode,
} from '@latchkey/shared/users/code-repository.ts'

/** A login with a provider between two requests. */
export interface PendingLogin extends StoredCode {
  tokenHash: string
  /** The sealed text of `LoginContent`. */
  content: string
}

interface PendingLoginRow extends CodeRow {
  token_hash: string
  content: string
}

const COLUMNS: Columns<Dated<PendingLogin>, keyof PendingLoginRow> = {
  ...CODE_COLUMNS,
  token_hash: ({ tokenHash }) => tokenHash,
  content: ({ content }) => content,
}

const LOGINS: CodeTable<PendingLogin, PendingLoginRow> = {
  columns: COLUMNS,
  statements: {
    insert: { name: 'identity_login-insert', text: `insert into identity_login ${toInsert(COLUMNS)}` },
    find: {
      name: 'identity_login-find',
      text: `select ${namesOf(COLUMNS)} from identity_login where id = $1`,
    },
    countAttempt: {
      name: 'identity_login-count-attempt',
      text: `update identity_login set attempts = attempts + 1
        where id = $1 and attempts < $2 and expires_at > $3`,
    },
    use: { name: 'identity_login-use', text: 'delete from identity_login where id = $1 and expires_at > $2' },
  },
  toKey: (id, db) => db.toUuidValue(id),
  fromRow: (row, db) => ({ ...toStoredCode(row, db), tokenHash: row.token_hash, content: row.content }),
}

const SET_CODE: Statement = {
  name: 'identity_login-set-code',
  text: 'update identity_login set code_hash = $2, content = $3, expires_at = $4 where id = $1',
}

/** Creates the repository of these logins. Given a transaction, it works inside that transaction. */
export const createLoginRepository = (db: Queryable) => ({
  ...createCodeRepository(db, LOGINS),

  /** Stores the hash of a code that was mailed, which replaces the one before. The attempts are those of both. */
  setCode: (
    id: string,
    { codeHash, content, expiresAt }: Pick<PendingLogin, 'codeHash' | 'content' | 'expiresAt'>,
  ) => changeRow(db, SET_CODE, id, codeHash, content, expiresAt),
})
