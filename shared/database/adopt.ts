import { describeRefusal } from './adoption/describe-differences.ts'
import type { Difference } from './adoption/difference.ts'
import type { Adoption, Column, Kind, Schema, SpecifiedColumn } from './adoption/schema.ts'
import { LOGIN_COLUMNS, OWN_TABLES, SPECIFICATION } from './adoption/specification.ts'

export interface Given {
  schema: Schema
  adoption: Adoption
  /** The migrations that are recorded. */
  applied: ReadonlySet<string>
}

/** What a difference is unless a rule says otherwise. */
const HARMLESS = { isBlocking: false, isSafe: false } as const
const FIXABLE = { isBlocking: false, isSafe: true } as const
const BLOCKING = { isBlocking: true, isSafe: false } as const
const BLOCKING_FIXABLE = { isBlocking: true, isSafe: true } as const

/**
 * How the tables `users` and `users_property` differ from the specification, except for what the pending migrations
 * change. In the order in which their SQL can run.
 */
export function findDifferences(given: Given): Difference[] {
  const foreign = findForeign(given)
  if (foreign.length > 0) return foreign
  return [
    ...findStorage(given),
    ...findMissingColumns(given),
    ...specified(given).flatMap(({ column, found }) => findColumnDifferences(given, column, found)),
    ...findMissingKeys(given),
    ...findSharedNames(given),
    ...findMisnamedIndexes(given),
    ...findDefaults(given),
    ...findForeignKey(given),
    ...findUnknownColumns(given),
    ...findServerDifferences(given),
  ]
}

/** Why two users can share an e-mail, a username or an id; empty where they cannot. */
export const findSharedAccounts = (given: Given): Difference[] =>
  hasTable(given, 'users')
    ? [...findMissingKeys(given), ...findSharedNames(given), ...findCaseSensitive(given)].filter(
        ({ isBlocking }) => isBlocking,
      )
    : []

/**
 * The differences that a migration removes before it starts: with `adopt` all whose SQL is safe, otherwise none. Throws
 * where something blocks that it does not remove.
 */
export function chooseFixes(differences: readonly Difference[], adopt: boolean): Difference[] {
  const fixes = differences.filter(({ isSafe, sql }) => adopt && isSafe && sql !== undefined)
  const blocking = differences.filter((difference) => difference.isBlocking && !fixes.includes(difference))
  if (blocking.length > 0) throw new Error(describeRefusal(blocking))
  return fixes
}

/** Whether the database has a table or view with this name. */
export const hasTable = ({ schema }: Pick<Given, 'schema'>, name: string): boolean =>
  schema.tables.some(({ table_name }) => table_name === name)

export const findColumn = ({ schema }: Given, table: string, column: string): Column | undefined =>
  schema.columns.find(({ table_name, column_name }) => table_name === table && column_name === column)

/** The specified columns that exist. */
export const specified = (given: Given) =>
  SPECIFICATION.flatMap((column) => {
    const found = findColumn(given, column.table, column.column)
    return found ? [{ column, found }] : []
  })

const nameOf = ({ table, column }: Pick<SpecifiedColumn, 'table' | 'column'>): string => `${table}.${column}`

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

/** A UUID needs 16 bytes where the type has a length. */
function isUsable({ adoption }: Given, kind: Kind, { data_type, max_length }: Column): boolean {
  const hasLength = kind !== 'uuid' || max_length === null || max_length === 16
  return hasLength && adoption.types[kind].includes(data_type)
}

const findStorage = ({ schema, adoption }: Given): Difference[] =>
  schema.tables
    .filter(
      ({ table_name, is_transactional }) =>
        ['users', 'users_property'].includes(table_name) && !is_transactional,
    )
    .map(({ table_name }) => ({
      subject: table_name,
      fault: 'is stored without transactions',
      consequence: 'A change that fails halfway stays, and a password reset can be used twice.',
      ...BLOCKING_FIXABLE,
      ...withSql(adoption.statements.makeTransactional?.(table_name)),
    }))

const withSql = (sql: string | undefined): { sql?: string } => (sql === undefined ? {} : { sql })

const findMissingColumns = (given: Given): Difference[] =>
  SPECIFICATION.filter(
    ({ table, column }) => hasTable(given, table) && !findColumn(given, table, column),
  ).map((column) => ({
    subject: column.table,
    fault: `has no column ${column.column}`,
    consequence: 'Each login fails.',
    ...BLOCKING_FIXABLE,
    sql: given.adoption.statements.addColumn(column),
  }))

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

const isPending = ({ applied }: Given, migration: string | undefined): boolean =>
  migration !== undefined && !applied.has(migration)

/** Whether a pending migration sets the type, the length and the collation of `column`. */
export const isRedefined = (given: Given, column: SpecifiedColumn): boolean =>
  isPending(given, given.adoption.redefinedBy(column))

/** Whether every migration that changes the specified tables is applied. */
export const isMigrated = (given: Given): boolean =>
  !SPECIFICATION.some((column) => isRedefined(given, column)) && !isPending(given, given.adoption.uniqueSince)

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

const isLoginColumn = ({ table, column }: SpecifiedColumn): boolean =>
  table === 'users' && LOGIN_COLUMNS.some((name) => name === column)

const findCaseSensitive = (given: Given): Difference[] =>
  specified(given).flatMap(({ column, found }) => {
    const finding = describeComparison(given, column, found)
    return finding ? [{ subject: nameOf(column), ...finding }] : []
  })

function describeLength(given: Given, column: SpecifiedColumn, found: Column): Finding {
  const { length = 0, kind } = column
  if (kind !== 'text' || isRedefined(given, column)) return undefined
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
  if (column.kind !== 'text' || isRedefined(given, column)) return undefined
  if (charset_name === null || charset_name === 'utf8mb4') return undefined
  // Hashes are ASCII.
  if (column.column === 'password') return undefined
  return {
    fault: `has the character set ${charset_name}`,
    consequence: 'A value with letters outside it is refused with 422.',
    ...FIXABLE,
  }
}

const isUniqueIn = ({ schema }: Given, table: string, keys: readonly string[]): boolean =>
  schema.indexes.some(
    ({ table_name, is_unique, key_columns }) =>
      table_name === table && Boolean(is_unique) && keys.includes(key_columns),
  )

const findMissingKeys = (given: Given): Difference[] =>
  [
    {
      table: 'users',
      column: 'userid',
      consequence: 'Two users can have one id, and the tokens of each other.',
    },
    {
      table: 'users_property',
      column: 'id',
      consequence: 'Properties have no order, and one cannot be named.',
    },
  ]
    .filter(({ table, column }) => hasTable(given, table) && !isUniqueIn(given, table, [column]))
    .map(({ table, column, consequence }) => ({
      subject: `${table}.${column}`,
      fault: 'is not the primary key',
      consequence,
      isBlocking: table === 'users',
      isSafe: true,
      sql: given.adoption.statements.addPrimaryKey(table, column),
    }))

/** The columns of the login that have no unique index. */
const findSharedNames = (given: Given): Difference[] =>
  specified(given)
    .filter(
      ({ column }) => isLoginColumn(column) && !isUniqueIn(given, column.table, uniqueKeys(given, column)),
    )
    .map(({ column, found }) => ({
      subject: nameOf(column),
      fault: 'has no unique index',
      consequence:
        column.column === 'email'
          ? 'A user can take the e-mail of an admin with PUT /profile; a login then opens either account.'
          : 'Two accounts can have one username; a login then opens either account.',
      ...BLOCKING_FIXABLE,
      sql: addUniqueIndex(given, column, found),
    }))

/** The keys of which one must be unique, the wanted one first. */
function uniqueKeys(given: Given, { column }: SpecifiedColumn): string[] {
  const { adoption } = given
  const final = adoption.uniqueKey(column)
  return isPending(given, adoption.uniqueSince) ? [column, final] : [final]
}

function addUniqueIndex(given: Given, column: SpecifiedColumn, found: Column): string {
  const [key = ''] = uniqueKeys(given, column)
  const name = `ix_${column.column}${key === column.column ? '' : '_folded'}`
  const isOccupied = given.schema.indexes.some(({ index_name }) => index_name === name)
  return given.adoption.statements.addUniqueIndex(column, found, { name, key, isOccupied })
}

/** A violated index is known by its name: the other one is that of the e-mail. */
const findMisnamedIndexes = (given: Given): Difference[] =>
  given.schema.indexes
    .filter(
      ({ table_name, is_unique, key_columns, index_name }) =>
        table_name === 'users' &&
        Boolean(is_unique) &&
        ['username', given.adoption.uniqueKey('username')].includes(key_columns) &&
        !index_name.includes('username'),
    )
    .map(({ table_name, index_name }) => ({
      subject: 'users.username',
      fault: `has a unique index called ${index_name}`,
      consequence: 'A username that is taken is reported as an e-mail address that is taken.',
      ...FIXABLE,
      sql: given.adoption.statements.renameIndex(table_name, index_name, `ix_username_${index_name}`),
    }))

function findDefaults(given: Given): Difference[] {
  const { adoption } = given
  const { statements } = adoption
  const createdAt = findColumn(given, 'users', 'created_at')
  const updatedAt = findColumn(given, 'users', 'updated_at')
  const id = findColumn(given, 'users_property', 'id')
  return [
    createdAt && !createdAt.has_default
      ? {
          subject: 'users.created_at',
          fault: 'has no default',
          consequence: 'New users have no time of creation.',
          ...FIXABLE,
          sql: statements.setCreatedAt(createdAt),
        }
      : undefined,
    updatedAt && !updatedAt.is_set_on_update && !isPending(given, adoption.updatedAtSince)
      ? {
          subject: 'users.updated_at',
          fault: 'is not set by an update',
          consequence: 'Profiles show a time of change that is too old.',
          ...FIXABLE,
          sql: statements.setUpdatedAt(updatedAt),
        }
      : undefined,
    id && !id.has_default
      ? {
          subject: 'users_property.id',
          fault: 'is not generated',
          consequence: 'Tokens cannot be revoked and passwords cannot be reset.',
          isBlocking: true,
          isSafe: adoption.types.key.includes(id.data_type),
          sql: statements.generateIds(id),
        }
      : undefined,
  ].filter((difference) => difference !== undefined)
}

export const NO_FOREIGN_KEY = 'has no foreign key to users.userid'

export const hasForeignKey = ({ schema }: Given): boolean =>
  schema.foreignKeys.some(
    (key) =>
      key.table_name === 'users_property' &&
      key.column_name === 'userid' &&
      key.referenced_table === 'users' &&
      key.referenced_column === 'userid',
  )

function findForeignKey(given: Given): Difference[] {
  if (hasForeignKey(given) || !hasTable(given, 'users_property')) return []
  return [
    {
      subject: 'users_property.userid',
      fault: NO_FOREIGN_KEY,
      consequence: 'The properties of a user that is deleted by SQL stay.',
      ...FIXABLE,
      sql: given.adoption.statements.addForeignKey(),
    },
  ]
}

/** Columns of the other program that Latchkey does not write. */
const findUnknownColumns = (given: Given): Difference[] =>
  given.schema.columns
    .filter(
      ({ table_name, column_name, is_nullable, has_default }) =>
        ['users', 'users_property'].includes(table_name) &&
        !SPECIFICATION.some(({ table, column }) => table === table_name && column === column_name) &&
        !is_nullable &&
        !has_default,
    )
    .map((column) => ({
      subject: `${column.table_name}.${column.column_name}`,
      fault: 'is not specified, cannot be null and has no default',
      consequence:
        column.table_name === 'users'
          ? 'Users::create and Users::import fail.'
          : 'Tokens cannot be revoked and passwords cannot be reset.',
      isBlocking: column.table_name !== 'users',
      isSafe: false,
      sql: given.adoption.statements.dropNotNull(column),
    }))

function findServerDifferences({ schema: { server } }: Given): Difference[] {
  const subject = 'the database'
  const unstorable = {
    subject,
    fault: `has the encoding ${server.encoding}`,
    consequence:
      'A value with letters outside it is refused with 422. Dump it, and restore it into one in UTF8.',
    ...HARMLESS,
  }
  const unfolded = {
    subject,
    fault: 'has a locale that knows the case of ASCII letters only',
    consequence:
      'É and é are different letters in an e-mail address. Dump it, and restore it into one with a UTF-8 locale.',
    ...HARMLESS,
  }
  return [...(server.stores_unicode ? [] : [unstorable]), ...(server.folds_unicode ? [] : [unfolded])]
}
