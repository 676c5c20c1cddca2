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

export type MailedCodePurpose = 'login' | 'invitation'

/** A code or a token of a mail to an address. */
export interface MailedCode extends StoredCode {
  /** The user's id; a random one for an unknown e-mail. Undefined where the user does not exist yet. */
  userid?: string | undefined
  /** The e-mail, folded. */
  email: string
  tokenHash: string
  /** What the purpose needs beside it. */
  content?: string | undefined
}

interface MailedCodeRow extends CodeRow {
  purpose: string
  userid: unknown
  email: string
  token_hash: string
  content: string | null
}

const columnsOf = (purpose: MailedCodePurpose): Columns<Dated<MailedCode>, keyof MailedCodeRow> => ({
  ...CODE_COLUMNS,
  purpose: () => purpose,
  userid: ({ userid }, db) => (userid === undefined ? null : db.toUuidValue(userid)),
  email: ({ email }) => email,
  token_hash: ({ tokenHash }) => tokenHash,
  content: ({ content }) => content ?? null,
})

const tableOf = (purpose: MailedCodePurpose): CodeTable<MailedCode, MailedCodeRow> => {
  const columns = columnsOf(purpose)
  return {
    columns,
    statements: {
      insert: { name: 'mailed_code-insert', text: `insert into mailed_code ${toInsert(columns)}` },
      // A later request does not end an earlier one: a stranger may have sent it.
      find: {
        name: `mailed_code-find-${purpose}`,
        text: `select ${namesOf(columns)} from mailed_code
          where email = $1 and purpose = '${purpose}' and used_at is null order by created_at desc, id desc`,
      },
      countAttempt: {
        name: 'mailed_code-count-attempt',
        text: `update mailed_code set attempts = attempts + 1
          where id = $1 and attempts < $2 and expires_at > $3 and used_at is null`,
      },
      use: {
        name: 'mailed_code-use',
        text: 'update mailed_code set used_at = $2 where id = $1 and expires_at > $2 and used_at is null',
      },
    },
    toKey: fold,
    fromRow: (row, db) => ({
      ...toStoredCode(row, db),
      userid: row.userid === null ? undefined : db.fromUuidValue(row.userid),
      email: row.email,
      tokenHash: row.token_hash,
      content: row.content ?? undefined,
    }),
  }
}

const TABLES = { login: tableOf('login'), invitation: tableOf('invitation') }

const END_ALL: Statement = {
  name: 'mailed_code-end-all',
  text: 'update mailed_code set used_at = $2 where userid = $1 and used_at is null',
}

/** Creates the repository of the mailed codes of a purpose. Given a transaction, it works inside that transaction. */
export const createMailedCodeRepository = (db: Queryable, purpose: MailedCodePurpose) => ({
  ...createCodeRepository(db, TABLES[purpose]),

  /** Ends every mailed code of a user, of any purpose. */
  endAll: (userid: string, now: Date): Promise<number> => db.execute(END_ALL, [db.toUuidValue(userid), now]),
})
