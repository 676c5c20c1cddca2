import {
  type Adoption,
  alter,
  type Column,
  type Difference,
  isLoginColumn,
  OWN_TABLES,
  type Schema,
  SPECIFICATION,
  type SpecifiedColumn,
} from './adoption.ts'

/** A database and what is known about its kind. */
export interface Given {
  schema: Schema
  adoption: Adoption
  /** Whether the migrations that change the specified tables are applied. Until then they are judged as specified. */
  isMigrated: boolean
}

/** How the specified tables differ from the specification, in the order in which the SQL of the fixes can run. */
export function findDifferences(given: Given): Difference[] {
  const foreign = findForeign(given)
  if (foreign.length > 0) return foreign
  return [
    ...findStorage(given),
    ...findMissingColumns(given),
    ...findColumnFaults(given),
    ...findMissingKey(given),
    ...findSharedNames(given),
    ...findMisnamedIndexes(given),
    ...findUnknownColumns(given),
  ]
}

/** Why two users can share an e-mail, a username or an id; empty where they cannot. */
export const findSharedAccounts = (given: Given): Difference[] =>
  hasTable(given, 'users')
    ? [
        ...findMissingKey(given),
        ...findSharedNames(given),
        ...findColumnFaults(given).filter(({ consequence }) => consequence === CASE_MATTERS),
      ]
    : []

/** Why the tables belong to another product. Nothing else is worth saying about them. */
export function findForeign(given: Given): Difference[] {
  const views = given.schema.tables
    .filter(({ table_name, is_table }) => isSpecified(table_name) && !is_table)
    .map(({ table_name }) => `${table_name} is a view`)
  const orphaned =
    hasTable(given, 'users_property') && !hasTable(given, 'users')
      ? ['users_property exists without a table users']
      : []
  const missing = SPECIFICATION.filter((column) => column.isIdentifying && isMissing(given, column)).map(
    ({ table, column }) => `${table} has no column ${column}`,
  )
  const ids = findSpecified(given)
    .filter(({ column, found }) => column.kind === 'uuid' && !isUsable(given, column, found))
    .map(({ name, found }) => `${name} is ${found.full_type}, not ${given.adoption.types.uuid[0]}`)
  const consequence = 'Latchkey cannot use the table. Copy its users to another database with Users::import.'
  const foreign = [...views, ...orphaned, ...missing, ...ids]
  return [...foreign.map((problem) => ({ problem, consequence, isBlocking: true })), ...findOccupied(given)]
}

/** Tables of another product under the names of Latchkey's own. */
const findOccupied = (given: Given): Difference[] =>
  Object.entries(OWN_TABLES).flatMap(([table, columns]) => {
    const missing = columns.filter((column) => isMissing(given, { table, column }))
    if (missing.length === 0) return []
    const consequence = 'Latchkey needs this name for its own table. Rename the table of the other program.'
    return [{ problem: `${table} has no column ${missing.join(', ')}`, consequence, isBlocking: true }]
  })

const findStorage = ({ schema, adoption }: Given): Difference[] =>
  schema.tables
    .filter(({ table_name, is_transactional }) => isSpecified(table_name) && !is_transactional)
    .map(({ table_name }) => ({
      problem: `${table_name} is stored without transactions`,
      consequence: 'A change that fails halfway stays, and a password reset can be used twice.',
      isBlocking: true,
      fix: adoption.fixes.makeTransactional?.(table_name),
    }))

const findMissingColumns = (given: Given): Difference[] =>
  SPECIFICATION.filter((column) => isMissing(given, column)).map((column) => ({
    problem: `${column.table} has no column ${column.column}`,
    consequence: 'Each login fails.',
    isBlocking: true,
    fix: given.adoption.fixes.addColumn(column),
  }))

/** The worst fault of each column: its fix redefines the whole column. */
const findColumnFaults = (given: Given): Difference[] =>
  findSpecified(given).flatMap(({ name, column, found }) => {
    const worst =
      findTypeFault(given, column, found) ??
      findNullFault(column, found) ??
      findDefaultFault(given, column, found)
    if (!worst) return []
    const { fault, hasFix = true, isBlocking = false, consequence } = worst
    const fix = hasFix ? given.adoption.fixes.redefine(column, found) : undefined
    return [{ problem: `${name} ${fault}`, consequence, isBlocking, fix }]
  })

interface ColumnFault {
  fault: string
  consequence: string
  isBlocking?: boolean
  hasFix?: boolean
}

const CASE_MATTERS =
  'Two accounts can have names that differ by case only, so a user can take the name of an admin.'

function findTypeFault(given: Given, column: SpecifiedColumn, found: Column): ColumnFault | undefined {
  const { adoption } = given
  const { data_type, full_type, max_length, charset_name, collation_name } = found
  const hasFix = Boolean(adoption.convertible[column.kind]?.includes(data_type))
  if (!isUsable(given, column, found)) {
    if (hasFix && isRedefinedByMigration(given, column)) return undefined
    const fault = `is ${full_type}, not ${adoption.types[column.kind][0]}`
    return { fault, consequence: 'Requests that read or write it fail.', isBlocking: true, hasFix }
  }
  if (isRedefinedByMigration(given, column)) return undefined
  if (isLoginColumn(column) && collation_name !== null && !collation_name.endsWith('_ci'))
    return { fault: `has the collation ${collation_name}`, consequence: CASE_MATTERS, isBlocking: true }
  if (max_length !== null && max_length < (column.length ?? 0))
    return {
      fault: `has ${max_length} characters, not ${column.length}`,
      consequence: 'A longer value is refused with 422.',
    }
  // Hashes are ASCII.
  if (charset_name === null || charset_name === 'utf8mb4' || column.column === 'password') return undefined
  return {
    fault: `has the character set ${charset_name}`,
    consequence: 'A value with letters outside it is refused with 422.',
  }
}

function findNullFault(column: SpecifiedColumn, found: Column): ColumnFault | undefined {
  if (!column.isNullable && found.is_nullable)
    return { fault: 'can be null', consequence: 'A row without it breaks the login of its user.' }
  if (!column.isNullable || found.is_nullable || found.has_default) return undefined
  return column.column === 'deleted_at'
    ? { fault: 'cannot be null', consequence: 'Every user counts as deleted.', isBlocking: true }
    : { fault: 'cannot be null', consequence: 'A user without it cannot be stored.' }
}

function findDefaultFault(
  { adoption }: Given,
  { table, setBy }: SpecifiedColumn,
  found: Column,
): ColumnFault | undefined {
  if (setBy === 'update') {
    const isSet = adoption.hasTrigger || Boolean(found.is_set_on_update)
    return isSet
      ? undefined
      : { fault: 'is not set by an update', consequence: 'Profiles show a time of change that is too old.' }
  }
  if (setBy === undefined || found.has_default) return undefined
  return table === 'users'
    ? { fault: 'has no default', consequence: 'New users have no time of creation.' }
    : {
        fault: 'is not generated',
        consequence: 'Tokens cannot be revoked and passwords cannot be reset.',
        isBlocking: true,
      }
}

const findMissingKey = (given: Given): Difference[] =>
  !hasTable(given, 'users') || isUnique(given, 'users', ['userid'])
    ? []
    : [
        {
          problem: 'users.userid is not the primary key',
          consequence: 'Two users can have one id, and the tokens of each other.',
          isBlocking: true,
          fix: alter('users', 'add primary key (userid)'),
        },
      ]

/** The columns of the login that have no unique index. */
const findSharedNames = (given: Given): Difference[] =>
  findSpecified(given).flatMap(({ name, column, found }) => {
    const { uniqueKey, fixes } = given.adoption
    const keys = [...(given.isMigrated ? [] : [column.column]), uniqueKey(column.column)]
    if (!isLoginColumn(column) || isUnique(given, 'users', keys)) return []
    const [key = ''] = keys
    const usual = `ix_${column.column}${key === column.column ? '' : '_folded'}`
    // An index that is not unique can have the name.
    const isTaken = given.schema.indexes.some(({ index_name }) => index_name === usual)
    const index = { name: isTaken ? `uq_${column.column}` : usual, key }
    return [
      {
        problem: `${name} has no unique index`,
        consequence:
          column.column === 'email'
            ? 'A user can take the e-mail of an admin with PUT /profile; a login then opens either account.'
            : 'Two accounts can have one username; a login then opens either account.',
        isBlocking: true,
        fix: fixes.addUniqueIndex(column, found, index),
      },
    ]
  })

/** A violated index is known by its name: one without `username` is taken for that of the e-mail. */
const findMisnamedIndexes = ({ schema, adoption }: Given): Difference[] =>
  schema.indexes
    .filter(
      ({ table_name, is_unique, key_columns, index_name }) =>
        table_name === 'users' &&
        Boolean(is_unique) &&
        ['username', adoption.uniqueKey('username')].includes(key_columns) &&
        !index_name.includes('username'),
    )
    .map(({ table_name, index_name }) => ({
      problem: `users.username has a unique index called ${index_name}`,
      consequence: 'A username that is taken is reported as an e-mail address that is taken.',
      isBlocking: false,
      fix: adoption.fixes.renameIndex(table_name, index_name, `ix_username_${index_name}`),
    }))

/** Columns of the other program that Latchkey does not write. */
const findUnknownColumns = ({ schema }: Given): Difference[] =>
  schema.columns
    .filter(
      ({ table_name, column_name, is_nullable, has_default }) =>
        isSpecified(table_name) &&
        !SPECIFICATION.some(({ table, column }) => table === table_name && column === column_name) &&
        !is_nullable &&
        !has_default,
    )
    .map(({ table_name, column_name }) => {
      const isBlocking = table_name !== 'users'
      const failing = isBlocking
        ? 'Tokens cannot be revoked and passwords cannot be reset.'
        : 'Users::create and Users::import fail.'
      return {
        problem: `${table_name}.${column_name} is not specified, cannot be null and has no default`,
        consequence: `${failing} Give it a default, or let it be null.`,
        isBlocking,
      }
    })

const isSpecified = (table: string): boolean => ['users', 'users_property'].includes(table)

/** Whether the database has a table or view with this name. */
export const hasTable = ({ schema }: Given, name: string): boolean =>
  schema.tables.some(({ table_name }) => table_name === name)

const findColumn = ({ schema }: Given, table: string, column: string): Column | undefined =>
  schema.columns.find(({ table_name, column_name }) => table_name === table && column_name === column)

const isMissing = (given: Given, { table, column }: Pick<SpecifiedColumn, 'table' | 'column'>): boolean =>
  hasTable(given, table) && !findColumn(given, table, column)

/** The specified columns that exist. */
export const findSpecified = (given: Given) =>
  SPECIFICATION.flatMap((column) => {
    const found = findColumn(given, column.table, column.column)
    return found ? [{ name: `${column.table}.${column.column}`, column, found }] : []
  })

export const isRedefinedByMigration = (
  { isMigrated, adoption }: Given,
  { table, column }: SpecifiedColumn,
): boolean => !isMigrated && table === 'users' && adoption.redefined.includes(column)

/** A UUID needs 16 bytes where the type has a length. */
function isUsable(
  { adoption }: Given,
  { kind }: SpecifiedColumn,
  { data_type, max_length }: Column,
): boolean {
  const hasLength = kind !== 'uuid' || max_length === null || max_length === 16
  return hasLength && adoption.types[kind].includes(data_type)
}

export const isUnique = ({ schema }: Given, table: string, keys: readonly string[]): boolean =>
  schema.indexes.some(
    ({ table_name, is_unique, key_columns }) =>
      table_name === table && Boolean(is_unique) && keys.includes(key_columns),
  )
