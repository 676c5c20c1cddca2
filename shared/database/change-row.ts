import type { Queryable, SqlValue, Statement } from './database.ts'

/** Executes a statement on the row with an id, which is its first value; true where that row existed and met its conditions. */
export const changeRow = async (
  db: Pick<Queryable, 'execute' | 'toUuidValue'>,
  statement: Statement,
  id: string,
  ...values: SqlValue[]
): Promise<boolean> => (await db.execute(statement, [db.toUuidValue(id), ...values])) === 1
