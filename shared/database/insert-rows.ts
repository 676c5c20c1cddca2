import type { Queryable, SqlValue } from './database.ts'

/** Rows of a statement. With 16 columns this is far below the 65,535 values that MySQL allows in one. */
const MAX_ROWS = 512

/** Inserts many rows in few statements. */
export async function insertRows(
  db: Pick<Queryable, 'execute' | 'dialect'>,
  table: string,
  columns: readonly string[],
  rows: readonly SqlValue[][],
): Promise<void> {
  const { sql, toRows } = db.dialect
  const text = `insert into ${table} (${columns.join(', ')}) ${sql.rowsOf(table, columns, '$1')}`
  for (let start = 0; start < rows.length; start += MAX_ROWS)
    await db.execute({ name: `insert-${table}`, text }, [
      toRows(columns, rows.slice(start, start + MAX_ROWS)),
    ])
}
