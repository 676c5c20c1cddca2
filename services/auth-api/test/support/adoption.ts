import { hash } from 'node:crypto'
import type { Database } from '@latchkey/shared/database/database.ts'
import { readAllMigrations } from '@latchkey/shared/database/migration-files.ts'
import { PASSWORD } from '@latchkey/test-support/a-user.ts'
import { dumpSchema, type OlderSchema, olderSchema } from '@latchkey/test-support/older-schemas.ts'
import { createEmptyDatabase } from '@latchkey/test-support/test-database.ts'
import { expect } from 'vitest'

/** The migrations, in their order. */
export const NAMES = readAllMigrations('postgres').map(({ name }) => name)

const INSERT = {
  name: 'test-insert',
  text: 'insert into users (userid, name, email, username, password) values ($1, $2, $3, $4, $5)',
}

export const addUser = (db: Database, username: string, email: string): Promise<number> =>
  db.execute(INSERT, [db.toUuidValue(crypto.randomUUID()), username, email, username, hash('sha1', PASSWORD)])

export async function anOlderDatabase(name: OlderSchema) {
  const database = await createEmptyDatabase()
  await database.db.runScript(olderSchema(name))
  return database
}

/** Returns the refusal of `work`, and whether it has changed the schema. */
export async function refusalOf(db: Database, work: () => Promise<unknown>): Promise<string> {
  const before = await dumpSchema(db)
  const refusal = await work().then(
    () => 'not refused',
    (error: Error) => error.message,
  )
  expect(await dumpSchema(db)).toBe(before)
  return refusal
}
