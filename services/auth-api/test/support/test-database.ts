import { randomBytes } from 'node:crypto'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { MIGRATED_TEMPLATE } from '../../../test/servers/shared-server.ts'
import { adminUrl, type Engine, engine, isPostgres } from './engine.ts'

export interface TestDatabase extends AsyncDisposable {
  url: string
  db: Database
}

/** An empty database of its own, on the project's server unless another is named; dropped at the end. */
export const createEmptyDatabase = (on: Engine = engine()): Promise<TestDatabase> => createDatabase(on)

/** `createEmptyDatabase` with every migration applied; PostgreSQL copies one that has them. */
export async function createTestDatabase(on: Engine = engine()): Promise<TestDatabase> {
  if (isPostgres(on)) return createDatabase(on, MIGRATED_TEMPLATE)
  const database = await createDatabase(on)
  await createMigrator(database.db).up()
  return database
}

async function createDatabase(on: Engine, template?: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await runAsAdmin(on, `create database ${name}${template ? ` template ${template}` : ''}`)
  const url = new URL(await adminUrl(on))
  url.pathname = `/${name}`
  const db = await openDatabase(url.href, { poolSize: 12 })
  return {
    url: url.href,
    db,
    async [Symbol.asyncDispose]() {
      await db.close()
      const force = isPostgres(on) ? ' with (force)' : ''
      await runAsAdmin(on, `drop database ${name}${force}`)
    },
  }
}

async function runAsAdmin(on: Engine, sql: string): Promise<void> {
  const admin = await openDatabase(await adminUrl(on), { poolSize: 1 })
  try {
    await admin.runScript(sql)
  } finally {
    await admin.close()
  }
}
