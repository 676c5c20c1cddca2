import { printable } from '../../printable.ts'
import type { Queryable } from '../database.ts'
import { BLOCKING, type Difference, HARMLESS } from './difference.ts'
import { findColumn, type Given, isRedefined, specified } from './given.ts'
import { LIKENESSES, type Likeness, type SpecifiedColumn } from './schema.ts'
import { LOGIN_COLUMNS } from './specification.ts'
import { hasForeignKey } from './table-rules.ts'

/** Rows, or groups of alike values, that are listed at most. */
const MAX_EXAMPLES = 10
/** Values of one group that are listed at most. */
const MAX_ALIKE = 5

/** The subject of rows of users_property without a user. */
export const ORPHANS = 'users_property'

/** One kind of row that the specification does not allow. */
interface RowCheck extends Omit<Difference, 'examples'> {
  /** Selects `example`, at most one row more than are listed. */
  text: string
}

/** The rows with which the database cannot be as specified. Reads the whole of `users` for each check. */
export async function findRowFaults(db: Queryable, given: Given): Promise<Difference[]> {
  const faults: Difference[] = []
  for (const { text, ...difference } of listRowChecks(given)) {
    const name = statementName('rows', difference.subject, difference.fault)
    const rows = await db.query<{ example: unknown }>({ name, text })
    const examples = rows.map(({ example }) => quote(example))
    if (examples.length > 0) faults.push({ ...difference, examples: bounded(examples) })
  }
  for (const column of LOGIN_COLUMNS) {
    if (!(await hasAlike(db, given, column))) continue
    for (const likeness of LIKENESSES) faults.push(...(await findAlike(db, given, column, likeness)))
  }
  return faults
}

const statementName = (...parts: string[]): string =>
  parts
    .join('-')
    .toLowerCase()
    .replaceAll(/[^a-z]+/g, '-')
    .slice(0, 60)

function listRowChecks(given: Given): RowCheck[] {
  const columns = specified(given).filter(({ column }) => column.table === 'users')
  return [
    ...columns
      .filter(({ column, found }) => !column.isNullable && Boolean(found.is_nullable))
      .map(({ column }) => nullCheck(column)),
    ...columns.flatMap(({ column, found }) => {
      const isNarrowed =
        (found.max_length ?? Number.POSITIVE_INFINITY) > (column.length ?? Number.POSITIVE_INFINITY)
      return isNarrowed && isRedefined(given, column) ? lengthCheck(given, column) : []
    }),
    ...columns.flatMap(({ column }) => (column.kind === 'moment' ? momentCheck(given, column) : [])),
    ...idCheck(given),
    ...orphanCheck(given),
  ]
}

// `concat` gives text: PostgreSQL keeps the plan of a statement, which a change of a column's type would break.
const selectUsers = (condition: string): string =>
  `select concat(coalesce(username, email)) as example from users where ${condition} order by 1 limit ${MAX_EXAMPLES + 1}`

const nullCheck = ({ column }: SpecifiedColumn): RowCheck => ({
  subject: `users.${column}`,
  fault: 'is null for',
  consequence: 'The login of these users fails with 500. Complete or delete the rows.',
  ...BLOCKING,
  text: selectUsers(`${column} is null`),
})

function lengthCheck({ adoption }: Given, { column, length = 0 }: SpecifiedColumn): RowCheck[] {
  if (!adoption.tooLong) return []
  const consequence = 'A migration narrows the column, and fails while it has longer values. Shorten them.'
  const text = selectUsers(adoption.tooLong(column, length))
  return [
    {
      subject: `users.${column}`,
      fault: `is longer than ${length} characters for`,
      consequence,
      ...BLOCKING,
      text,
    },
  ]
}

function momentCheck({ adoption }: Given, { column }: SpecifiedColumn): RowCheck[] {
  const condition = adoption.impossibleMoment?.(column)
  if (condition === undefined) return []
  return [
    {
      subject: `users.${column}`,
      fault: 'is not a date for',
      consequence: 'Each change of the table fails. A user counts as deleted where this is deleted_at.',
      ...BLOCKING,
      sql: `update users set ${column} = null where ${condition};`,
      text: selectUsers(condition),
    },
  ]
}

function idCheck({ schema }: Given): RowCheck[] {
  const isUnique = schema.indexes.some(
    ({ table_name, key_columns, is_unique }) =>
      table_name === 'users' && key_columns === 'userid' && Boolean(is_unique),
  )
  const twice = 'userid in (select userid from users group by userid having count(*) > 1)'
  if (isUnique) return []
  return [
    {
      subject: 'users.userid',
      fault: 'belongs to another user too for',
      consequence: 'The token of one of these users is a token of the other. Give each an id of its own.',
      ...BLOCKING,
      text: selectUsers(twice),
    },
  ]
}

function orphanCheck(given: Given): RowCheck[] {
  if (!findColumn(given, 'users_property', 'userid') || hasForeignKey(given)) return []
  const orphaned = 'not exists (select 1 from users where users.userid = users_property.userid)'
  return [
    {
      subject: ORPHANS,
      fault: 'has rows of users that do not exist, with the names',
      consequence: 'The foreign key cannot be added.',
      ...HARMLESS,
      sql: `delete from users_property where ${orphaned};`,
      text: `select distinct concat(name) as example from users_property where ${orphaned} order by 1 limit ${MAX_EXAMPLES + 1}`,
    },
  ]
}

const CONSEQUENCES: Readonly<Record<Likeness, Pick<Difference, 'consequence' | 'isBlocking'>>> = {
  case: {
    consequence: 'They are one name to Latchkey. Rename or delete all but one of each line.',
    isBlocking: true,
  },
  space: {
    consequence: 'Latchkey compares white space. Check that each line is not one person.',
    isBlocking: false,
  },
  accent: {
    consequence: 'Latchkey compares accents. Check that each line is not one person.',
    isBlocking: false,
  },
}

const FAULTS: Readonly<Record<Likeness, string>> = {
  case: 'is the same, except for case, for several users',
  space: 'is the same, except for white space, for several users',
  accent: 'is the same, except for accents, for several users',
}

/** Whether any search can find something: what differs by case or white space alone is alike but for accents too. */
async function hasAlike(db: Queryable, { adoption }: Given, column: string): Promise<boolean> {
  const alike = adoption.likeness(column, 'accent')
  const text = `select 1 as found from users where ${column} is not null group by ${alike} having count(*) > 1 limit 1`
  return (await db.query({ name: statementName('any', 'alike', column), text })).length > 0
}

async function findAlike(
  db: Queryable,
  { adoption }: Given,
  column: string,
  likeness: Likeness,
): Promise<Difference[]> {
  const alike = adoption.likeness(column, likeness)
  // What differs less is listed under that.
  const closer = LIKENESSES[LIKENESSES.indexOf(likeness) - 1]
  const differing = closer ? `count(distinct ${adoption.likeness(column, closer)})` : 'count(*)'
  const text = `
    select concat(users.${column}) as example, alike.name as alike_name
    from users join (
      select ${alike} as name from users where ${column} is not null
      group by ${alike} having ${differing} > 1 order by 1 limit ${MAX_EXAMPLES + 1}
    ) alike on ${adoption.likeness(`users.${column}`, likeness)} = alike.name
    order by alike.name, users.${column}
    limit ${(MAX_EXAMPLES + 1) * MAX_ALIKE}`
  const rows = await db.query<{ example: unknown; alike_name: unknown }>({
    name: statementName('alike', column, likeness),
    text,
  })
  if (rows.length === 0) return []
  const groups = Map.groupBy(rows, ({ alike_name }) => String(alike_name))
  const lines = [...groups.values()].map((group) => group.map(({ example }) => quote(example)).join(' and '))
  const subject = `users.${column}`
  return [
    { subject, fault: FAULTS[likeness], ...CONSEQUENCES[likeness], isSafe: false, examples: bounded(lines) },
  ]
}

/** In quotes, so that white space can be seen. */
const quote = (value: unknown): string => `"${printable(String(value))}"`

const bounded = (examples: readonly string[]): string[] =>
  examples.length > MAX_EXAMPLES ? [...examples.slice(0, MAX_EXAMPLES), 'and more'] : [...examples]
