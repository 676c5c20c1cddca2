import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Database } from '../../database.ts'
import { DIALECTS, findDialect } from '../../dialects.ts'
import { readMigrations } from '../../migration-files.ts'
import { createMigrator } from '../../migrations.ts'
import { sqlite } from './dialect.ts'

/** A new empty SQLite database. */
export async function openEmpty(): Promise<{ db: Database } & AsyncDisposable> {
  const folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-sqlite-'))
  const url = pathToFileURL(join(folder.path, 'test.db')).href.replace('file:', 'sqlite:')
  const db = await findDialect(url, [...DIALECTS, sqlite]).open(url, {})
  return {
    db,
    async [Symbol.asyncDispose]() {
      await db.close()
      await folder.remove()
    },
  }
}

/** One with the tables of users. */
export async function openMigrated(): ReturnType<typeof openEmpty> {
  const database = await openEmpty()
  await createMigrator(database.db, readMigrations('migrations', import.meta.dirname)).up()
  return database
}
