import { changeRow } from '../database/change-row.ts'
import type { Queryable, Statement } from '../database/database.ts'

/** A text that FACTOR_SECRET has sealed, in the row with an id. */
export interface SealedText {
  id: string
  sealed: string
}

const BATCH_SIZE = 500
/** Before every id. */
export const FIRST = '00000000-0000-0000-0000-000000000000'

/** The statements on a column with such texts. */
export type SealedColumn = Readonly<Record<'find' | 'replace', Statement>>

/** Declares a column with such texts, in the rows of which `condition` is true. */
export const sealedColumn = (table: string, column: string, condition: string): SealedColumn => ({
  find: {
    name: `${table}-sealed`,
    text: `select id, ${column} as sealed from ${table} where id > $1${condition} order by id limit ${BATCH_SIZE}`,
  },
  replace: {
    name: `${table}-reseal`,
    text: `update ${table} set ${column} = $2 where id = $1 and ${column} = $3`,
  },
})

/** Creates the repository of one column. */
export const createSealedTextRepository = (db: Queryable, { find, replace }: SealedColumn) => ({
  /** Returns a batch of texts of the rows after an id, in the order of their ids. */
  async findAfter(id: string): Promise<SealedText[]> {
    const rows = await db.query<{ id: unknown; sealed: string }>(find, [db.toUuidValue(id)])
    return rows.map((row) => ({ id: db.fromUuidValue(row.id), sealed: row.sealed }))
  },
  /** Replaces a text unless it has changed; true when it was replaced. */
  replace: ({ id, sealed }: SealedText, by: string) => changeRow(db, replace, id, by, sealed),
})
