import type { Queryable, SqlValue, Statement } from './database.ts'

/** Rows of a statement. With 16 columns this is far below the 65,535 values that MySQL allows in one. */
const MAX_ROWS = 512

/** Inserts many rows in few statements. */
export async function insertRows(
  db: Pick<Queryable, 'execute' | 'dialect'>,
  table: string,
  columns: readonly string[],
  rows: readonly SqlValue[][],
): Promise<void> {
  const names = columns.join(', ')
  const insert: Statement = {
    name: `insert-${table}`,
    text: {
      postgres: `insert into ${table} (${names})
        select ${names} from json_populate_recordset(null::${table}, $1)`,
      mysql: `insert into ${table} (${names}) values $1`,
    },
  }
  for (let start = 0; start < rows.length; start += MAX_ROWS)
    await db.execute(insert, [db.dialect.toRows(columns, rows.slice(start, start + MAX_ROWS))])
}
