import { AppError } from '../app-error.ts'
import { rootReason } from '../root-reason.ts'
import type { Database } from './database.ts'
import { openDatabase } from './open-database.ts'

/**
 * Runs a command's work on the database that `url` names, and closes it. Who types a command is told what no client is:
 * which server cannot be reached, and why.
 */
export async function withDatabase<Result>(
  url: string,
  work: (db: Database) => Promise<Result>,
): Promise<Result> {
  const db = openDatabase(url, { poolSize: 2 })
  try {
    return await work(db)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'unavailable') throw error
    const { host } = new URL(url)
    const message = `The database${host && ` at ${host}`} cannot be reached: ${rootReason(error)}`
    throw new AppError('unavailable', message, { cause: error })
  } finally {
    await db.close()
  }
}
