import { expect, it } from 'vitest'
import { findExtensions } from '../extensions/find-extensions.ts'
import { someExtensions } from '../extensions/test/extension-folders.ts'
import { readAllMigrations } from './migration-files.ts'

it.each([
  {
    files: ['mysql/0001_a.up.sql', 'mysql/0001_a.down.sql'],
    fault: 'it has no migrations in extensions/notes/migrations/postgres/',
  },
  {
    files: ['postgres/1_a.up.sql'],
    fault: 'extensions/notes/migrations/postgres/1_a.up.sql is not named like 0001_add_notes.up.sql',
  },
  { files: ['postgres/0001_a.sql'], fault: 'postgres/0001_a.sql is not named like' },
  { files: ['postgres/0001_a.up.sql'], fault: 'postgres/0001_a.up.sql has no .down.sql' },
  { files: ['postgres/0001_a.down.sql'], fault: 'postgres/0001_a.down.sql has no .up.sql' },
  {
    files: ['0001_a', '0001_b'].flatMap((name) => [`postgres/${name}.up.sql`, `postgres/${name}.down.sql`]),
    fault: 'postgres/0001_b.up.sql has a number that another one has',
  },
])('refuses $files', async ({ files, fault }) => {
  await using folder = await someExtensions({
    'notes/extension.ts': '',
    ...Object.fromEntries(files.map((file) => [`notes/migrations/${file}`, ''])),
  })
  const read = () => readAllMigrations('postgres', findExtensions(folder.path))
  expect(read).toThrow(/^The extension notes cannot be used: /)
  expect(read).toThrow(fault)
})
