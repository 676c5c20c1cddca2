import { BLOCKING, type Difference } from './difference.ts'
import { findColumn, type Given, hasTable, isUsable, nameOf, specified } from './given.ts'
import { OWN_TABLES, SPECIFICATION } from './specification.ts'

/** Tables of another product. Nothing else is worth saying about them. */
export function findForeign(given: Given): Difference[] {
  const consequence =
    'Latchkey cannot use the table. Copy its users with Users::import into a database of its own.'
  const foreign = (subject: string, fault: string): Difference => ({
    subject,
    fault,
    consequence,
    ...BLOCKING,
  })
  const views = given.schema.tables
    .filter(({ table_name, is_table }) => !is_table && ['users', 'users_property'].includes(table_name))
    .map(({ table_name }) => foreign(table_name, 'is a view'))
  const orphan =
    hasTable(given, 'users_property') && !hasTable(given, 'users')
      ? [foreign('users_property', 'exists without a table users')]
      : []
  const missing = SPECIFICATION.filter(
    (column) =>
      column.isIdentifying &&
      hasTable(given, column.table) &&
      !findColumn(given, column.table, column.column),
  ).map(({ table, column }) => foreign(table, `has no column ${column}`))
  const ids = specified(given)
    .filter(({ column, found }) => column.kind === 'uuid' && !isUsable(given, column.kind, found))
    .map(({ column, found }) =>
      foreign(nameOf(column), `is ${found.full_type}, not ${given.adoption.types.uuid[0]}`),
    )
  return [...views, ...orphan, ...missing, ...ids, ...findOccupied(given)]
}

/** Tables of another product under the names of Latchkey's own. */
function findOccupied(given: Given): Difference[] {
  return Object.entries(OWN_TABLES).flatMap(([table, columns]) => {
    const missing = columns.filter((column) => !findColumn(given, table, column))
    if (!hasTable(given, table) || missing.length === 0) return []
    const consequence = 'Latchkey needs this name for its own table. Rename the table of the other program.'
    return [{ subject: table, fault: `has no column ${missing.join(', ')}`, consequence, ...BLOCKING }]
  })
}
