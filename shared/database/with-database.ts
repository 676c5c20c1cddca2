import { AppError } from '../errors/app-error.ts'
import { rootReason } from '../errors/root-reason.ts'
import type { Database, DatabaseOptions } from './database.ts'
import { openDatabase } from './dialects.ts'

/**
 * Runs the work of a command on the database that `url` names, and closes it. An operator sees which server cannot be
 * reached and why; clients of auth-api do not.
 */
export async function withDatabase<Result>(
  url: string,
  work: (db: Database) => Promise<Result>,
  options: DatabaseOptions = {},
): Promise<Result> {
  const db = await openDatabase(url, { poolSize: 2, ...options })
  try {
    return await work(db)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'unavailable') throw error
    const { host } = new URL(url)
    const named = error.message.replace('The database', `The database${host && ` at ${host}`} (DATABASE_URL)`)
    const message = `${named}: ${rootReason(error)}`
    throw new AppError('unavailable', message, { cause: error })
  } finally {
    await db.close()
  }
}
