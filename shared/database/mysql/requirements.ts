import { errorMessage } from '../../errors/app-error.ts'
import type { Difference } from '../adoption/adoption.ts'
import type { Queryable } from '../database.ts'
import { COLLATE } from './adoption.ts'

/**
 * Everything that migrations do, on a view and a table that nothing else uses. Each statement can run again, and beside another check. The
 * first one shows whether the others can be dropped.
 */
const PROBES = [
  'create or replace sql security definer view latchkey_rights_view as select 1 as one',
  `create table if not exists latchkey_rights (
    id binary(16) not null default (unhex(replace(uuid(), '-', ''))), parent binary(16),
    name varchar(20) character set utf8mb4 ${COLLATE}, primary key (id),
    constraint fk_latchkey_rights foreign key (parent) references latchkey_rights (id)) engine = InnoDB`,
  'alter table latchkey_rights modify parent binary(16) not null',
  'create index ix_latchkey_rights on latchkey_rights (name)',
]
const DROPS = ['drop view if exists latchkey_rights_view', 'drop table if exists latchkey_rights']

/** The right was there: another check has dropped the table, or an earlier one has left it. */
const PASSED = /^(ER_NO_SUCH_TABLE|ER_DUP_KEYNAME)$/

const DENIED = /ACCESS_DENIED/

const FIND_LOGIN = {
  name: 'requirements-login',
  text: `select current_user() as login, database() as name, concat('grant all privileges on \`', database(), '\`.* to ''',
    replace(current_user(), '@', '''@'''), ''';') as remedy`,
}

/** Finds the first thing that migrations do and the server refuses. Its grants may come from roles, so each is tried. */
export async function findMissingRights(db: Queryable): Promise<Difference[]> {
  const refusal = await runProbes(db)
  for (const text of DROPS) await run(db, text).catch(() => undefined)
  if (refusal === undefined) return []
  const [found] = await db.query<{ login: string; name: string; remedy: string }>(FIND_LOGIN)
  return [
    {
      problem: `${found?.login} may not change the tables of the database ${found?.name}: ${errorMessage(refusal)}`,
      ...(DENIED.test(codeOf(refusal)) ? { consequence: `An administrator runs: ${found?.remedy}` } : {}),
    },
  ]
}

async function runProbes(db: Queryable): Promise<unknown> {
  try {
    for (const text of PROBES) await run(db, text)
    return undefined
  } catch (error) {
    return error
  }
}

async function run(db: Queryable, text: string): Promise<void> {
  try {
    await db.execute({ name: text.slice(0, 40), text })
  } catch (error) {
    if (!PASSED.test(codeOf(error))) throw error
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''
