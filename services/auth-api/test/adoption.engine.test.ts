import { hash } from 'node:crypto'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { PASSWORD } from '@latchkey/test-support/a-user.ts'
import { isPostgres } from '@latchkey/test-support/engine.ts'
import { createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { describe, expect, it } from 'vitest'
import { addUser, anOlderDatabase, NAMES, refusalOf } from './support/adoption.ts'
import { bearer, logIn, startApp } from './support/start-app.ts'

describe('a database without unique indexes', () => {
  it('would let a user take the e-mail of an admin: no migration runs on it, and none after --adopt', async () => {
    await using database = await anOlderDatabase('plain indexes')
    const { db } = database
    for (const name of ['admin', 'mallory']) await addUser(db, name, `${name}@example.com`)
    const refusal = await refusalOf(db, () => createMigrator(db).up())
    expect(refusal).toMatch(/users\.email has no unique index\n.*\n.*unique index (ix_email_sigma|uq_email)/)
    expect(refusal).toMatch(/users\.username has no unique index/)
    expect(refusal).toContain('npm run migrate -- up --adopt')

    expect(await createMigrator(db).up({ adopt: true })).toEqual(NAMES)
    await using app = await startApp({ database })
    const { token } = (await logIn(app, 'mallory@example.com')).json()
    const taken = await app.server.inject({
      method: 'PUT',
      url: '/profile',
      headers: bearer(token),
      payload: { email: 'Admin@Example.com' },
    })
    expect(taken.json()).toMatchObject({ status: 409 })
    expect((await logIn(app, 'admin@example.com')).json().data.name).toBe('admin')
  })

  it('is refused with the e-mails that differ only by case', async () => {
    await using database = await anOlderDatabase('plain indexes')
    const { db } = database
    const emails = [
      'Ada@x.example',
      'ada@x.example',
      'ας@x.example',
      'ασ@x.example',
      'adá@x.example',
      'a da@x.example',
    ]
    for (const [index, email] of emails.entries()) await addUser(db, `u${index}`, email)
    const listed = (await createMigrator(db).inspect()).flatMap(({ examples = [] }) => [...examples].sort())
    expect(listed).toEqual(emails.slice(0, 4).map((email) => `"${email}"`))
    const refusal = await refusalOf(db, () => createMigrator(db).up({ adopt: true }))
    expect(refusal).toContain('Change this by hand first')
    expect(refusal).not.toContain(hash('sha1', PASSWORD))
    await db.runScript("delete from users where username in ('u1', 'u3')")
    expect(await createMigrator(db).up({ adopt: true })).toEqual(NAMES)
  })
})

describe('an adopted database that somebody changes', () => {
  const drop = (index: string) =>
    isPostgres() ? `drop index ${index}_sigma` : `alter table users drop index ${index}`
  it.each([
    { sql: () => drop('ix_email'), says: 'users.email has no unique index' },
    { sql: () => drop('ix_username'), says: 'users.username has no unique index' },
    {
      sql: () =>
        isPostgres()
          ? 'alter table users drop constraint pk_users cascade'
          : 'alter table users_property drop foreign key fk_user_property; alter table users drop primary key',
      says: 'users.userid is not the primary key',
    },
    ...(isPostgres()
      ? []
      : [
          {
            sql: () =>
              'alter table users modify email varchar(120) character set utf8mb4 collate utf8mb4_bin',
            says: 'users.email has the collation utf8mb4_bin',
          },
        ]),
  ])('is refused by services and migrations: $says', async ({ sql, says }) => {
    await using database = await createTestDatabase()
    const migrator = createMigrator(database.db)
    expect(await migrator.findSharedAccounts()).toEqual([])
    await database.db.runScript(sql())
    expect(await migrator.findSharedAccounts()).toMatchObject([{ problem: says }])
    await expect(migrator.up()).rejects.toThrow(says)
    expect(await migrator.up({ adopt: true })).toEqual([])
    expect(await migrator.findSharedAccounts()).toEqual([])
  })
})

it('an adoption continues where a killed one has stopped', async () => {
  await using database = await anOlderDatabase('another character set, shorter columns')
  const { db } = database
  const count = (await createMigrator(db).inspect()).length
  let left = count / 2
  const killed = createMigrator({
    ...db,
    async runScript(sql) {
      if (left-- < 0) throw new Error('killed')
      await db.runScript(sql)
    },
  })
  await expect(killed.up({ adopt: true })).rejects.toThrow('killed')
  expect((await createMigrator(db).inspect()).length).toBeLessThan(count)
  expect(await createMigrator(db).up({ adopt: true })).toEqual(NAMES)
  expect(await createMigrator(db).inspect()).toEqual([])
})
