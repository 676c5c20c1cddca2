import type { Database, DatabaseOptions } from './database.ts'
import { openMysql } from './mysql.ts'
import { openPostgres } from './postgres.ts'

/** Opens the database that `url` names: `postgres:`, `postgresql:`, `mysql:` or `mariadb:`. Does not connect yet. */
export function openDatabase(url: string, options: DatabaseOptions = {}): Database {
  return /^postgres(ql)?:/.test(url) ? openPostgres(url, options) : openMysql(url, options)
}
