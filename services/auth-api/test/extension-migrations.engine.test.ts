import { type Migration, readAllMigrations } from '@latchkey/shared/database/migration-files.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { findExtensions } from '@latchkey/shared/extensions/find-extensions.ts'
import { someExtensions } from '@latchkey/shared/extensions/test/extension-folders.ts'
import { createEmptyDatabase } from '@latchkey/test-support/test-database.ts'
import { describe, expect, it } from 'vitest'

const table = (extension: string, migration: string) =>
  Object.fromEntries(
    ['postgres', 'mysql'].flatMap((dialect) => [
      [
        `${extension}/migrations/${dialect}/${migration}.up.sql`,
        `create table ${migration.slice(5)} (id int);`,
      ],
      [`${extension}/migrations/${dialect}/${migration}.down.sql`, `drop table ${migration.slice(5)};`],
    ]),
  )

describe('the migrations of extensions', () => {
  it('are recorded under its name, and the newest is reverted first', async () => {
    await using folder = await someExtensions({
      'notes/extension.ts': '',
      ...table('notes', '0001_notes'),
      'other/extension.ts': '',
      ...table('other', '0001_others'),
      'plain/extension.ts': '',
    })
    await using database = await createEmptyDatabase()
    const { db } = database
    const shipped = readAllMigrations(db.dialect.name, [])
    const all = readAllMigrations(db.dialect.name, findExtensions(folder.path))
    const names = all.map(({ name }) => name)
    expect(names).toEqual([...shipped.map(({ name }) => name), 'notes/0001_notes', 'other/0001_others'])
    expect(await createMigrator(db, all).up()).toEqual(names)
    expect((await createMigrator(db, all).status()).every(({ appliedAt }) => appliedAt)).toBe(true)

    // A later run is reverted before an earlier one, and the migrations of one run in reverse order.
    expect(await createMigrator(db, all).down(1)).toEqual(['other/0001_others'])
    const upgraded: Migration[] = [
      ...shipped,
      { name: '9998_newer', checksum: '1'.repeat(64), upSql: 'select 1;', downSql: 'select 1;' },
      ...all.slice(shipped.length),
    ]
    await db.execute({ name: 'test-earlier', text: 'update latchkey_migrations set applied_at = $1' }, [
      new Date(Date.now() - 86_400_000),
    ])
    expect(await createMigrator(db, upgraded).up()).toEqual(['9998_newer', 'other/0001_others'])
    expect(await createMigrator(db, upgraded).down(3)).toEqual([
      'other/0001_others',
      '9998_newer',
      'notes/0001_notes',
    ])
  })
})
