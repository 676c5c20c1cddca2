import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { OWN_TABLES } from './adoption/adoption.ts'
import { DIALECTS } from './dialects.ts'
import { readMigrations } from './migration-files.ts'

const ROOT = join(import.meta.dirname, 'migrations')

const filesOf = (dialect: string): string[] => readdirSync(join(ROOT, dialect))

it.each(DIALECTS)('every migration exists for $name, up and down', ({ name }) => {
  const files = new Set(filesOf(name))
  const migrations = new Set(
    DIALECTS.flatMap((dialect) => filesOf(dialect.name)).map((file) => file.replace(/\.(up|down)\.sql$/, '')),
  )
  const missing = [...migrations]
    .flatMap((migration) => [`${migration}.up.sql`, `${migration}.down.sql`])
    .filter((file) => !files.has(file))
  expect(missing, `create in shared/database/migrations/${name}`).toEqual([])
})

it.each(DIALECTS)(
  'every table that a migration creates for $name is known to the adoption of a database',
  ({ name }) => {
    const created = readMigrations(name).flatMap(({ upSql }) =>
      [...upSql.matchAll(/^create table if not exists (\w+)/gm)].map(([, table]) => table),
    )
    expect(created.sort()).toEqual(['users', 'users_property', ...Object.keys(OWN_TABLES)].sort())
  },
)
