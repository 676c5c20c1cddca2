import type { Queryable, SqlParameter, Statement } from '@latchkey/shared/database/database.ts'
import type { TestDatabase } from '@latchkey/test-support/test-database.ts'

export interface RecordingDatabase extends TestDatabase {
  /** The statements that were sent so far, in their order; a test may empty the list. */
  sent: { statement: Statement; values: readonly SqlParameter[] }[]
  /** The names of the statements so far. */
  names(): string[]
  /** The name of a statement that fails, if any. */
  failing: string | undefined
}

/** The same database, which records its statements and lets one of them fail. */
export function recording(database: TestDatabase): RecordingDatabase {
  const { db } = database
  const recorded = <Given extends Queryable>(given: Given): Given => {
    const record = (statement: Statement, values: readonly SqlParameter[] = []) => {
      recordingDatabase.sent.push({ statement, values })
      if (statement.name === recordingDatabase.failing) throw new Error(`${statement.name} fails`)
    }
    return {
      ...given,
      query(statement, values) {
        record(statement, values)
        return given.query(statement, values)
      },
      execute(statement, values) {
        record(statement, values)
        return given.execute(statement, values)
      },
    }
  }
  const recordingDatabase: RecordingDatabase = {
    ...database,
    db: {
      ...recorded(db),
      transaction: (work) => db.transaction((transaction) => work(recorded(transaction))),
    },
    sent: [],
    names: () => recordingDatabase.sent.map(({ statement }) => statement.name),
    failing: undefined,
  }
  return recordingDatabase
}
