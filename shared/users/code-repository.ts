import { changeRow } from '../database/change-row.ts'
import { type Columns, valuesOf } from '../database/columns.ts'
import type { Queryable, SqlValue, Statement } from '../database/database.ts'

/** The content of the row of every mailed code. */
export interface StoredCode {
  id: string
  codeHash: string
  expiresAt: Date
}

/** The columns of every mailed code, as `find` selects them. */
export interface CodeRow {
  id: unknown
  code_hash: string
  expires_at: Date
}

/** A code with the time of its request. */
export type Dated<Code> = Code & { createdAt: Date }

/** The columns of every mailed code. */
export const CODE_COLUMNS: Columns<Dated<StoredCode>, keyof CodeRow | 'created_at'> = {
  id: ({ id }, db) => db.toUuidValue(id),
  code_hash: ({ codeHash }) => codeHash,
  created_at: ({ createdAt }) => createdAt,
  expires_at: ({ expiresAt }) => expiresAt,
}

/** Returns what every mailed code has of its row. */
export const toStoredCode = (row: CodeRow, db: Queryable): StoredCode => ({
  id: db.fromUuidValue(row.id),
  codeHash: row.code_hash,
  expiresAt: row.expires_at,
})

/** A table of mailed codes, by the parts in which it differs from the others. */
export interface CodeTable<Code, Row> {
  columns: Columns<Dated<Code>, keyof Row & string>
  /** `insert` stores the columns, and `find` selects them. */
  statements: Readonly<Record<'insert' | 'find' | 'countAttempt' | 'use', Statement>>
  /** The value by which codes are found, for a user id or an e-mail. */
  toKey: (text: string, db: Queryable) => SqlValue
  /** The code that a row of `find` contains. */
  fromRow: (row: Row, db: Queryable) => Code
}

export interface CodeRepository<Code> {
  insert(code: Code, now: Date): Promise<void>
  /**
   * Finds the codes of a user or an e-mail, the newest first; they may have expired. Of resets and changes of e-mail it finds
   * the newest only: a request replaces the earlier ones, and of two concurrent requests only one is the newest.
   */
  find(key: string): Promise<Code[]>
  /** Counts an attempt; false when none is left or the code has ended. */
  countAttempt(id: string, maximum: number, now: Date): Promise<boolean>
  /** Ends a code by its use; true for the one call that does. */
  use(id: string, now: Date): Promise<boolean>
}

/** Creates the repository of one table. Given a transaction, it works inside that transaction. */
export function createCodeRepository<Code, Row extends object>(
  db: Queryable,
  { columns, statements, toKey, fromRow }: CodeTable<Code, Row>,
): CodeRepository<Code> {
  return {
    async insert(code, now) {
      await db.execute(statements.insert, valuesOf(columns, { ...code, createdAt: now }, db))
    },
    async find(key) {
      const rows = await db.query<Row>(statements.find, [toKey(key, db)])
      return rows.map((row) => fromRow(row, db))
    },
    countAttempt: (id, maximum, now) => changeRow(db, statements.countAttempt, id, maximum, now),
    use: (id, now) => changeRow(db, statements.use, id, now),
  }
}
