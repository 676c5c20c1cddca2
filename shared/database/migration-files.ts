import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  ExtensionError,
  type ExtensionFolder,
  findExtensions,
  MIGRATIONS,
} from '../extensions/find-extensions.ts'

const MIGRATIONS_DIR = join(import.meta.dirname, 'migrations')

export interface Migration {
  /** The name as it is recorded: `0001_users`, or `notes/0001_notes` for the extension `notes`. */
  name: string
  upSql: string
  downSql: string
  /** SHA-256 of `upSql`, which must not change once it is applied. */
  checksum: string
}

/** Reads `migrations/<dialect>/NNNN_name.{up,down}.sql` in order. */
export function readMigrations(dialect: string, root: string = MIGRATIONS_DIR): Migration[] {
  const folder = join(root, dialect)
  const names = readdirSync(folder)
    .filter((file) => file.endsWith('.up.sql'))
    .map((file) => file.slice(0, -'.up.sql'.length))
    .sort()
  return names.map((name) => {
    const upSql = readFileSync(join(folder, `${name}.up.sql`), 'utf8').replaceAll('\r\n', '\n')
    const downSql = readFileSync(join(folder, `${name}.down.sql`), 'utf8')
    return { name, upSql, downSql, checksum: createHash('sha256').update(upSql).digest('hex') }
  })
}

/** The migrations of Latchkey, then those of each extension, by name. Throws `ExtensionError`. */
export const readAllMigrations = (dialect: string, extensions = findExtensions()): Migration[] => [
  ...readMigrations(dialect),
  ...extensions.flatMap((extension) => readExtensionMigrations(dialect, extension)),
]

function readExtensionMigrations(dialect: string, { name, dir }: ExtensionFolder): Migration[] {
  const root = join(dir, MIGRATIONS)
  if (!existsSync(root)) return []
  const folder = `extensions/${name}/${MIGRATIONS}/${dialect}`
  if (!existsSync(join(root, dialect))) throw new ExtensionError(name, `it has no migrations in ${folder}/`)
  const fault = findFileFault(readdirSync(join(root, dialect)))
  if (fault) throw new ExtensionError(name, `${folder}/${fault}`)
  return readMigrations(dialect, root).map((each) => ({ ...each, name: `${name}/${each.name}` }))
}

const FILE = /^(?<number>\d{4})_[a-z0-9_]{1,50}\.(up|down)\.sql$/

function findFileFault(files: readonly string[]): string | undefined {
  const numbers = new Set<string>()
  for (const file of files.toSorted()) {
    const number = FILE.exec(file)?.groups?.number
    if (!number) return `${file} is not named like 0001_add_notes.up.sql`
    if (file.endsWith('.down.sql') && !files.includes(file.replace('.down.', '.up.')))
      return `${file} has no .up.sql`
    if (!file.endsWith('.up.sql')) continue
    if (!files.includes(file.replace('.up.', '.down.'))) return `${file} has no .down.sql`
    if (numbers.has(number)) return `${file} has a number that another one has`
    numbers.add(number)
  }
  return undefined
}
