import { randomBytes } from 'node:crypto'
import type { Database } from '@latchkey/shared/database/database.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { inject } from 'vitest'

export interface TestDatabase extends AsyncDisposable {
  url: string
  db: Database
}

/** An empty database of its own on the project's server, dropped at the end. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await runAsAdmin(`create database ${name}`)
  const url = new URL(inject('adminUrl'))
  url.pathname = `/${name}`
  const db = openDatabase(url.href, { poolSize: 12 })
  return {
    url: url.href,
    db,
    async [Symbol.asyncDispose]() {
      await db.close()
      const force = db.dialect === 'postgres' ? ' with (force)' : ''
      await runAsAdmin(`drop database ${name}${force}`)
    },
  }
}

/** `createEmptyDatabase` with every migration applied. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const database = await createEmptyDatabase()
  await createMigrator(database.db).up()
  return database
}

async function runAsAdmin(sql: string): Promise<void> {
  const admin = openDatabase(inject('adminUrl'), { poolSize: 1 })
  try {
    await admin.runScript(sql)
  } finally {
    await admin.close()
  }
}
