import type { Difference, TextFault } from '../adoption/adoption.ts'
import type { Queryable, Statement } from '../database.ts'
import { folded } from './folded.ts'

/** Capital letters on which locales disagree: ASCII without regard to Turkish, Latin, Greek and Cyrillic. */
const CAPITALS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZÀÁÄÅÆÇÉÌÍÑÖØÜÞĄČĨŁŠŞŽΑΣΩБЖЯ'

const TEXT: Statement = {
  name: 'requirements-text',
  text: `select current_database() as name, pg_encoding_to_char(encoding) as encoding,
      coalesce(to_jsonb(found)->>'datlocale', to_jsonb(found)->>'daticulocale', datctype) as locale,
      format('create database %I template template0 encoding ''UTF8'' %s;', datname,
        case when current_setting('server_version_num')::int >= 170000 then 'locale_provider builtin locale ''C.UTF-8'''
          when current_setting('server_version_num')::int >= 150000 then 'locale_provider libc locale ''C.UTF-8'''
          else 'locale ''C.UTF-8''' end) as remedy
    from pg_database found where datname = current_database()`,
}
const FIND_UNFOLDED: Statement = {
  name: 'requirements-unfolded',
  text: `select capital, ${folded('capital')} as found, small from unnest($1::text[], $2::text[]) as letter(capital, small)
    where ${folded('capital')} <> small limit 1`,
}

interface Text {
  name: string
  encoding: string
  locale: string
  remedy: string
}

/** Finds why PostgreSQL would store other texts than Latchkey, or take two spellings of a name for two names. */
export async function findTextFault(db: Queryable): Promise<TextFault | undefined> {
  const [text] = await db.query<Text>(TEXT)
  if (!text) return undefined
  const isUtf8 = text.encoding === 'UTF8'
  const problem = isUtf8
    ? await findLocaleFault(db, text)
    : `The encoding of the database ${text.name} is ${text.encoding}, and has to be UTF8`
  if (problem === undefined) return undefined
  const isFinal = !isUtf8 && !(await hasGreek(db))
  return { problem, isFinal, consequence: `The database has to be created in another way: ${text.remedy}` }
}

/** Returns true if the encoding has the letters that migrations name. */
const hasGreek = (db: Queryable): Promise<boolean> =>
  db.query({ name: 'requirements-greek', text: `select ${folded("''")} as folded` }).then(
    () => true,
    () => false,
  )

async function findLocaleFault(db: Queryable, { name, locale }: Text): Promise<string | undefined> {
  const capitals = [...CAPITALS]
  const values = [capitals, capitals.map((capital) => capital.toLowerCase())]
  const [letter] = await db.query<{ capital: string; found: string; small: string }>(FIND_UNFOLDED, values)
  if (!letter) return undefined
  const { capital, found, small } = letter
  return `The locale of the database ${name} is ${locale}: the lower case of ${capital} is ${found} there, and has to be ${small}`
}

const FIND_RIGHTS: Statement = {
  name: 'requirements-rights',
  text: `select current_user as role, current_database() as database, current_setting('search_path') as path,
      current_schema() as schema, has_schema_privilege(current_schema(), 'create') as may_create,
      format('create schema if not exists %1$I; grant usage, create on schema %1$I to %2$I;',
        replace(trim(both ' "' from split_part(current_setting('search_path'), ',', 1)), '$user', current_user),
        current_user) as add_schema,
      format('grant usage, create on schema %I to %I;', coalesce(current_schema(), ''), current_user) as grant_create,
      (select json_agg(json_build_object('name', relname,
          'remedy', format('alter table %I.%I owner to %I;', nspname, relname, current_user)) order by relname)
        from pg_class join pg_namespace space on space.oid = relnamespace
        where nspname = current_schema() and relkind in ('r', 'p') and relname = any($1) and not pg_has_role(relowner, 'usage')) as not_owned`,
}

interface Rights {
  role: string
  database: string
  path: string
  schema: string | null
  may_create: boolean | null
  add_schema: string
  grant_create: string
  not_owned: { name: string; remedy: string }[] | null
}

/** Finds the rights that migrations lack which create tables, and change those in `changed`. Reads the catalog only. */
export async function findMissingRights(db: Queryable, changed: readonly string[]): Promise<Difference[]> {
  const [rights] = await db.query<Rights>(FIND_RIGHTS, [changed])
  if (!rights) return []
  const { role, database, path, schema, add_schema, grant_create } = rights
  if (schema === null)
    return [
      {
        problem: `The search_path of ${role} is ${path}, and names no schema of the database ${database} that ${role} may use`,
        consequence: remedyOf(add_schema),
      },
    ]
  return [
    ...(rights.may_create
      ? []
      : [
          {
            problem: `${role} may not create tables in the schema ${schema} of the database ${database}`,
            consequence: remedyOf(grant_create),
          },
        ]),
    ...(rights.not_owned ?? []).map(({ name, remedy }) => ({
      problem: `${role} may not change the table ${name}, since it is not its owner`,
      consequence: remedyOf(remedy),
    })),
  ]
}

/** Says which SQL gives the login a right that it cannot give to itself. */
export const remedyOf = (sql: string): string => `An administrator runs: ${sql}`
