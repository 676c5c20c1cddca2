import type { Queryable, SqlValue, Statement } from './database.ts'

/** Rows of a statement. With 16 columns this is far below the 65,535 values that both protocols allow in one. */
const MAX_ROWS = 512

/** Inserts many rows in few statements. */
export async function insertRows(
  db: Pick<Queryable, 'execute'>,
  table: string,
  columns: readonly string[],
  rows: readonly SqlValue[][],
): Promise<void> {
  for (const some of inPowersOfTwo(rows))
    await db.execute(insertInto(table, columns, some.length), some.flat())
}

/**
 * Groups of 512, 256 … 1. A server keeps every prepared statement of a session: this way there are ten of a kind
 * instead of one for every number of rows.
 */
export function inPowersOfTwo<Item>(items: readonly Item[]): Item[][] {
  const groups: Item[][] = []
  for (let start = 0; start < items.length; start += groups.at(-1)?.length ?? 0) {
    const left = Math.min(items.length - start, MAX_ROWS)
    groups.push(items.slice(start, start + 2 ** Math.floor(Math.log2(left))))
  }
  return groups
}

const statements = new Map<string, Statement>()

/** Returns the same object for the same statement: the MySQL adapter caches translations by it. */
export function prepared(name: string, make: () => Omit<Statement, 'name'>): Statement {
  const statement = statements.get(name) ?? { name, ...make() }
  statements.set(name, statement)
  return statement
}

const insertInto = (table: string, columns: readonly string[], count: number): Statement =>
  prepared(`insert-${table}-${count}`, () => {
    const row = (index: number) =>
      `(${columns.map((_, column) => `$${index * columns.length + column + 1}`).join(', ')})`
    const rows = Array.from({ length: count }, (_, index) => row(index))
    return { text: `insert into ${table} (${columns.join(', ')}) values ${rows.join(', ')}` }
  })
