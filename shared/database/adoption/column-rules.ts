import { BLOCKING_FIXABLE, type Difference, FIXABLE } from './difference.ts'
import { findColumn, type Given, hasTable, isRedefined, isUsable, nameOf, specified } from './given.ts'
import type { Column, SpecifiedColumn } from './schema.ts'
import { isLoginColumn, SPECIFICATION } from './specification.ts'

export const findMissingColumns = (given: Given): Difference[] =>
  SPECIFICATION.filter(
    ({ table, column }) => hasTable(given, table) && !findColumn(given, table, column),
  ).map((column) => ({
    subject: column.table,
    fault: `has no column ${column.column}`,
    consequence: 'Each login fails.',
    ...BLOCKING_FIXABLE,
    sql: given.adoption.statements.addColumn(column),
  }))

/** What differs in the columns that exist. */
export const findColumnFaults = (given: Given): Difference[] =>
  specified(given).flatMap(({ column, found }) => findColumnDifferences(given, column, found))

/** At most one for each column, the worst: its SQL redefines the whole column. */
function findColumnDifferences(given: Given, column: SpecifiedColumn, found: Column): Difference[] {
  const { redefine } = given.adoption.statements
  const worst =
    describeType(given, column, found) ??
    describeComparison(given, column, found) ??
    describeLength(given, column, found) ??
    describeNullability(given, column, found) ??
    describeCharset(given, column, found)
  return worst ? [{ subject: nameOf(column), sql: redefine(column, found), ...worst }] : []
}

type Finding = Omit<Difference, 'subject'> | undefined

function describeType(given: Given, column: SpecifiedColumn, found: Column): Finding {
  const { adoption } = given
  if (isUsable(given, column.kind, found)) return undefined
  const isConvertible = Boolean(adoption.convertible[column.kind]?.includes(found.data_type))
  if (isConvertible && isRedefined(given, column)) return undefined
  return {
    fault: `is ${found.full_type}, not ${adoption.types[column.kind][0]}`,
    consequence: 'Requests that read or write it fail.',
    isBlocking: true,
    isSafe: isConvertible,
  }
}

function describeComparison(given: Given, column: SpecifiedColumn, found: Column): Finding {
  const compares = given.adoption.comparesText?.(found.collation_name ?? '')
  if (!compares || !isLoginColumn(column) || isRedefined(given, column)) return undefined
  const fault = `has the collation ${found.collation_name}`
  if (!compares.ignoresCase) return { fault, consequence: CASE_MATTERS, ...BLOCKING_FIXABLE }
  const consequence =
    'Names that differ by an accent or by trailing white space are taken for one: the second is refused.'
  return compares.isExactOtherwise ? undefined : { fault, consequence, ...FIXABLE }
}

const CASE_MATTERS =
  'Two accounts can have names that differ by case only, so a user can take the name of an admin.'

export const findCaseSensitive = (given: Given): Difference[] =>
  specified(given).flatMap(({ column, found }) => {
    const finding = describeComparison(given, column, found)
    return finding ? [{ subject: nameOf(column), ...finding }] : []
  })

function describeLength(given: Given, column: SpecifiedColumn, found: Column): Finding {
  const { length = 0 } = column
  if (isRedefined(given, column)) return undefined
  if (found.max_length === null || found.max_length >= length) return undefined
  return {
    fault: `has ${found.max_length} characters, not ${length}`,
    consequence: 'A longer value is refused with 422.',
    ...FIXABLE,
  }
}

function describeNullability(given: Given, column: SpecifiedColumn, found: Column): Finding {
  if (given.adoption.redefinesNull && isRedefined(given, column)) return undefined
  if (!column.isNullable && found.is_nullable)
    return { fault: 'can be null', consequence: 'A row without it breaks the login of its user.', ...FIXABLE }
  if (!column.isNullable || found.is_nullable || found.has_default) return undefined
  return column.column === 'deleted_at'
    ? { fault: 'cannot be null', consequence: 'Every user counts as deleted.', ...BLOCKING_FIXABLE }
    : { fault: 'cannot be null', consequence: 'A user without it cannot be stored.', ...FIXABLE }
}

function describeCharset(given: Given, column: SpecifiedColumn, { charset_name }: Column): Finding {
  if (isRedefined(given, column)) return undefined
  if (charset_name === null || charset_name === 'utf8mb4') return undefined
  // Hashes are ASCII.
  if (column.column === 'password') return undefined
  return {
    fault: `has the character set ${charset_name}`,
    consequence: 'A value with letters outside it is refused with 422.',
    ...FIXABLE,
  }
}
