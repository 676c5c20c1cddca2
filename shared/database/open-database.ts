import type { Database, DatabaseOptions } from './database.ts'
import { findDialect } from './dialects.ts'

/** Loads the driver for `url` and opens a pool; connects at the first statement. */
export const openDatabase = (url: string, options: DatabaseOptions = {}): Promise<Database> =>
  findDialect(url).open(url, options)
