import { fold } from '../users/user.ts'
import type { Difference } from './adoption/adoption.ts'
import type { Queryable, SqlValue } from './database.ts'
import type { Migration } from './migration-files.ts'

/** Finds what `pending` migrations need of the login and the server, and would not get. */
export async function findMissingRights(
  db: Queryable,
  pending: readonly Migration[],
  alsoChanged: readonly string[],
): Promise<Difference[]> {
  if (pending.length === 0 && alsoChanged.length === 0) return []
  const changed = pending.flatMap(({ upSql }) => [
    ...upSql.matchAll(/\b(?:alter table(?: if exists)?|on)\s+"?(\w+)/gi),
  ])
  return db.dialect.findMissingRights(db, [...alsoChanged, ...changed.map(([, table = '']) => table)])
}

/** Describes a database that has accounts already and takes two spellings of a name for two names; it can be used. */
export async function describeTextFault(db: Queryable): Promise<string | undefined> {
  const fault = await db.dialect.findTextFault?.(db)
  if (!fault || fault.isFinal) return undefined
  const shared = await countSharedNames(db)
  const { problem, consequence } = fault
  return `${problem}. Two spellings of one name are two accounts there: ${shared} accounts have a name that another account has in another case. Until then, users log in with the spelling of their account. ${consequence}`
}

const PAGE = 10_000
const LOGIN_COLUMNS = ['email', 'username'] as const

/** Counts the accounts whose e-mail or username is that of another account by `fold`, and not in the database. */
async function countSharedNames(db: Queryable): Promise<number> {
  const shared = new Set<string>()
  for (const column of LOGIN_COLUMNS) {
    const accounts = await readMisfolded(db, column)
    const names = [...accounts.keys()]
    for (let at = 0; at < names.length; at += PAGE)
      for (const { name, folded, id } of await readFolded(db, column, names.slice(at, at + PAGE)))
        if (fold(name) === folded) accounts.get(folded)?.push(id)
    for (const ids of accounts.values()) if (ids.length > 1) for (const id of ids) shared.add(id)
  }
  return shared.size
}

interface Name {
  id: string
  name: string
  /** The name as the database folds it. */
  folded: string
}

/**
 * Reads the accounts whose names the database folds in another way than `fold`, by what `fold` makes of the name. Of two names
 * that are one, at least one is among them: the unique index keeps the others apart.
 */
async function readMisfolded(db: Queryable, column: string): Promise<Map<string, string[]>> {
  const misfolded = new Map<string, string[]>()
  let after: SqlValue = db.toUuidValue('00000000-0000-0000-0000-000000000000')
  for (;;) {
    const page: Name[] = await db.query<Name>(
      {
        name: `names-${column}-page`,
        text: `${selectNames(db, column)} and userid > $1 order by userid limit ${PAGE}`,
      },
      [after],
    )
    for (const { id, name, folded } of page)
      if (fold(name) !== folded) misfolded.set(fold(name), [...(misfolded.get(fold(name)) ?? []), id])
    const last = page.at(-1)
    if (!last || page.length < PAGE) return misfolded
    after = last.id
  }
}

const readFolded = (db: Queryable, column: string, names: readonly string[]): Promise<Name[]> =>
  db.query<Name>(
    {
      name: `names-${column}-folded`,
      text: `${selectNames(db, column)} and ${db.dialect.adoption?.fold(column)} = any($1)`,
    },
    [names],
  )

const selectNames = (db: Queryable, column: string): string =>
  `select userid as id, ${column} as name, ${db.dialect.adoption?.fold(column)} as folded
    from users where ${column} is not null`
