import { printable } from '@latchkey/text/printable.ts'
import type { Queryable } from '../database.ts'
import { type Difference, isLoginColumn } from './adoption.ts'
import { findSpecified, type InspectedDatabase, isUnique } from './find-differences.ts'

/** Rows that are listed at most. */
const MAX_EXAMPLES = 10

/** One kind of row that the specification does not allow. */
interface RowCheck {
  column: string
  fault: string
  consequence: string
  condition: string
}

/** Finds the rows with which the database cannot be as specified. Reads the whole of `users` for each check. */
export async function findRowFaults(db: Queryable, inspected: InspectedDatabase): Promise<Difference[]> {
  const faults: Difference[] = []
  for (const check of listChecks(inspected)) {
    const examples = await findExamples(db, check)
    const { column, fault, consequence } = check
    if (examples.length > 0) faults.push({ problem: `users.${column} ${fault}`, consequence, examples })
  }
  return faults
}

async function findExamples(db: Queryable, { column, fault, condition }: RowCheck): Promise<string[]> {
  const name = `rows-${column}-${fault}`.replaceAll(/[^a-z]+/g, '-').slice(0, 60)
  const shown = column === 'email' ? 'coalesce(email, username)' : 'coalesce(username, email)'
  // `concat` gives text: PostgreSQL keeps the plan of a statement, which a change of a column's type would break.
  const text = `select concat(${shown}) as example from users where ${condition}
    order by lower(${shown}), ${shown} limit ${MAX_EXAMPLES + 1}`
  const rows = await db.query<{ example: unknown }>({ name, text })
  // In quotes, so that white space can be seen.
  const examples = rows.slice(0, MAX_EXAMPLES).map(({ example }) => `"${printable(String(example))}"`)
  return rows.length > MAX_EXAMPLES ? [...examples, 'and more'] : examples
}

function listChecks(inspected: InspectedDatabase): RowCheck[] {
  const { narrowsNames, impossibleMoment, fold } = inspected.adoption
  const columns = findSpecified(inspected).filter(({ column }) => column.table === 'users')
  const required = columns.filter(({ column: { isNullable } }) => !isNullable)
  const names = columns.filter(({ column }) => isLoginColumn(column))
  const moments = columns.filter(({ column: { kind } }) => kind === 'moment' && impossibleMoment)
  return [
    ...required.map(({ column: { column } }) => ({
      column,
      fault: 'is null for',
      consequence: 'The login of these users fails with 500. Complete or delete the rows.',
      condition: `${column} is null`,
    })),
    {
      column: 'password',
      fault: 'is empty for',
      consequence: `These users cannot log in. Delete them, or let them reset it: update users set password = '!' where password = '';`,
      condition: `password = ''`,
    },
    ...(narrowsNames ? names : []).map(({ column: { column, length } }) => ({
      column,
      fault: `is longer than ${length} characters for`,
      consequence: 'A migration narrows the column, and fails while it has longer values. Shorten them.',
      condition: `char_length(${column}) > ${length}`,
    })),
    ...moments.map(({ column: { column } }) => ({
      column,
      fault: 'is not a date for',
      consequence: `Each change of the table fails. Set it to null: update users set ${column} = null where ${impossibleMoment?.(column)};`,
      condition: impossibleMoment?.(column) ?? 'false',
    })),
    ...names.map(({ column: { column } }) => ({
      column,
      fault: 'is the same, except for case, for several users',
      consequence: 'Their names are one name to Latchkey. Rename or delete all but one of them.',
      condition: isShared(fold(column)),
    })),
    ...(isUnique(inspected, 'users', ['userid'])
      ? []
      : [
          {
            column: 'userid',
            fault: 'belongs to another user too for',
            consequence:
              'The token of one of these users is a token of the other. Give each user a different id.',
            condition: isShared('userid'),
          },
        ]),
  ]
}

/** MySQL evaluates an expression of its `having` only in a table. */
const isShared = (value: string): string =>
  `${value} in (
    select shared.value from (select ${value} as value from users group by ${value} having count(*) > 1) shared
  )`
