import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DIALECTS } from './dialects.ts'

const ROOT = join(import.meta.dirname, '..', '..', 'migrations')

const filesOf = (dialect: string): string[] => readdirSync(join(ROOT, dialect))

it.each(DIALECTS)('every migration exists for $name, up and down', ({ name }) => {
  const files = new Set(filesOf(name))
  const migrations = new Set(
    DIALECTS.flatMap((dialect) => filesOf(dialect.name)).map((file) => file.replace(/\.(up|down)\.sql$/, '')),
  )
  const missing = [...migrations]
    .flatMap((migration) => [`${migration}.up.sql`, `${migration}.down.sql`])
    .filter((file) => !files.has(file))
  expect(missing, `create in migrations/${name}`).toEqual([])
})
