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
export interface InspectedDatabase {
  schema: Schema
  adoption: Adoption
  /** True if the migrations that change the specified tables are applied. */
  isMigrated: boolean
}

/** Finds how the specified tables differ from the specification, in the order in which the SQL of the fixes can run. */
export function findDifferences(inspected: InspectedDatabase): Difference[] {
  const foreign = findForeign(inspected)
  if (foreign.length > 0) return foreign
  return [
    ...findStorage(inspected),
    ...findMissingColumns(inspected),
    ...findColumnFaults(inspected),
    ...findMissingKey(inspected),
    ...findSharedNames(inspected),
    ...findUnknownColumns(inspected),
  ]
}

/** Finds why two users can share an e-mail, a username or an id; empty where they cannot. */
export const findSharedAccounts = (inspected: InspectedDatabase): Difference[] =>
  hasTable(inspected, 'users')
    ? [
        ...findMissingKey(inspected),
        ...findSharedNames(inspected),
        ...findColumnFaults(
          inspected,
          ({ column, found }) => isLoginColumn(column) && isCaseSensitive(found),
        ),
      ]
    : []

/** Finds why the tables belong to another product. Nothing else is worth saying about them. */
export function findForeign(inspected: InspectedDatabase): Difference[] {
  const views = inspected.schema.tables
    .filter(({ table_name, is_table }) => isSpecified(table_name) && !is_table)
    .map(({ table_name }) => `${table_name} is a view`)
  const orphaned =
    hasTable(inspected, 'users_property') && !hasTable(inspected, 'users')
      ? ['users_property exists without a table users']
      : []
  const missing = SPECIFICATION.filter((column) => column.isIdentifying && isMissing(inspected, column)).map(
    ({ table, column }) => `${table} has no column ${column}`,
  )
  const ids = findSpecified(inspected)
    .filter(({ column, found }) => column.kind === 'uuid' && !isUsable(inspected, column, found))
    .map(({ name, found }) => `${name} is ${found.full_type}, not ${inspected.adoption.types.uuid[0]}`)
  const consequence =
    'Latchkey cannot use the table. Import its users into another database: docs/how-to/import-users.md has the SQL.'
  const foreign = [...views, ...orphaned, ...missing, ...ids]
  const difference = foreign.length > 0 ? [{ problem: foreign.join('; '), consequence }] : []
  return [...difference, ...findOccupied(inspected)]
}

/** Finds tables of another product under the names of Latchkey's own. */
const findOccupied = (inspected: InspectedDatabase): Difference[] =>
  Object.entries(OWN_TABLES).flatMap(([table, columns]) => {
    const missing = columns.filter((column) => isMissing(inspected, { table, column }))
    if (missing.length === 0) return []
    const consequence = 'Latchkey needs this name for its own table. Rename the table of the other program.'
    return [{ problem: `${table} has no column ${missing.join(', ')}`, consequence }]
  })

/** Finds tables without transactions, as those of MySQL's MyISAM. */
const findStorage = ({ schema }: InspectedDatabase): Difference[] =>
  schema.tables
    .filter(({ table_name, is_transactional }) => isSpecified(table_name) && !is_transactional)
    .map(({ table_name, is_replicated }) => ({
      problem: `${table_name} is stored without transactions`,
      ...(is_replicated
        ? {
            consequence: 'A change that fails halfway stays, and a password reset can be used twice.',
            fix: alter(table_name, 'engine = InnoDB'),
          }
        : { consequence: UNREPLICATED }),
    }))

/** A conversion would keep each node's different rows, and the first change of one ends the node that has it. */
const UNREPLICATED =
  'Its rows are on the node that wrote them only. There, copy them into a new table with engine = InnoDB, and rename both.'

const findMissingColumns = (inspected: InspectedDatabase): Difference[] =>
  SPECIFICATION.filter((column) => isMissing(inspected, column)).map((column) => ({
    problem: `${column.table} has no column ${column.column}`,
    fix: inspected.adoption.addColumn(column),
  }))

/** All faults of a column are one difference: its fix redefines the whole column. */
const findColumnFaults = (
  inspected: InspectedDatabase,
  isRelevant: (found: Specified) => boolean = () => true,
): Difference[] =>
  findSpecified(inspected)
    .filter(isRelevant)
    .flatMap(({ name, column, found }): Difference[] => {
      const faults = [describeType(inspected, column, found), ...describeValues(column, found)].filter(
        Boolean,
      )
      if (faults.length === 0) return []
      const problem = `${name} ${faults.join(', and ')}`
      const { convertible, redefine } = inspected.adoption
      return isUsable(inspected, column, found) || convertible[column.kind]?.includes(found.data_type)
        ? [{ problem, fix: redefine(column, found) }]
        : [{ problem, consequence: 'Convert the column, without a loss of what it stores.' }]
    })

function describeType(
  inspected: InspectedDatabase,
  column: SpecifiedColumn,
  found: Column,
): string | undefined {
  const { full_type, max_length, collation_name } = found
  if (!isUsable(inspected, column, found))
    return `is ${full_type}, not ${inspected.adoption.types[column.kind][0]}`
  const { length = 0 } = column
  if (max_length !== null && max_length < length) return `has ${max_length} characters, not ${length}`
  const isOtherText = column.kind === 'text' && !(collation_name ?? 'utf8mb4').startsWith('utf8mb4')
  return isOtherText || (isLoginColumn(column) && isCaseSensitive(found))
    ? `has the collation ${collation_name}`
    : undefined
}

const isCaseSensitive = ({ collation_name }: Column): boolean =>
  collation_name !== null && !collation_name.endsWith('_ci')

const describeValues = ({ isNullable, setBy }: SpecifiedColumn, found: Column) => [
  !isNullable && found.is_nullable && 'can be null',
  isNullable && !found.is_nullable && !found.has_default && 'cannot be null',
  setBy === 'insert' && !found.has_default && 'has no default',
  setBy === 'update' && !found.is_set_on_update && 'is not set by an update',
]

const findMissingKey = (inspected: InspectedDatabase): Difference[] =>
  !hasTable(inspected, 'users') || isUnique(inspected, 'users', ['userid'])
    ? []
    : [
        {
          problem: 'users.userid is not the primary key',
          consequence: "Two users could share an id, and one could use the other's token.",
          fix: alter('users', 'add primary key (userid)'),
        },
      ]

/** Finds the columns of the login that have no unique index. */
const findSharedNames = (inspected: InspectedDatabase): Difference[] =>
  findSpecified(inspected).flatMap(({ name, column, found }) => {
    const { uniqueKey, addUniqueIndex } = inspected.adoption
    const keys = [...(inspected.isMigrated ? [] : [column.column]), uniqueKey(column.column)]
    if (!isLoginColumn(column) || isUnique(inspected, 'users', keys)) return []
    return [
      {
        problem: `${name} has no unique index`,
        consequence:
          column.column === 'email'
            ? 'A user can take the e-mail of an admin with PUT /profile; a login then opens either account.'
            : 'Two accounts can have one username; a login then opens either account.',
        fix: addUniqueIndex(column, found),
      },
    ]
  })

/** Finds columns of the other program that need a value, and that Latchkey does not write. */
const findUnknownColumns = ({ schema }: InspectedDatabase): Difference[] =>
  schema.columns
    .filter(
      ({ table_name, column_name, is_nullable, has_default }) =>
        isSpecified(table_name) &&
        !SPECIFICATION.some(({ table, column }) => table === table_name && column === column_name) &&
        !is_nullable &&
        !has_default,
    )
    .map(({ table_name, column_name }) => ({
      problem: `${table_name}.${column_name} is not specified, cannot be null and has no default`,
      consequence: 'Latchkey cannot insert rows. Give the column a default, or let it be null.',
    }))

const isSpecified = (table: string): boolean => ['users', 'users_property'].includes(table)

/** Returns true if the database has a table or view with this name. */
export const hasTable = ({ schema }: InspectedDatabase, name: string): boolean =>
  schema.tables.some(({ table_name }) => table_name === name)

const findColumn = ({ schema }: InspectedDatabase, table: string, column: string): Column | undefined =>
  schema.columns.find(({ table_name, column_name }) => table_name === table && column_name === column)

const isMissing = (
  inspected: InspectedDatabase,
  { table, column }: Pick<SpecifiedColumn, 'table' | 'column'>,
): boolean => hasTable(inspected, table) && !findColumn(inspected, table, column)

/** A specified column that exists. */
interface Specified {
  name: string
  column: SpecifiedColumn
  found: Column
}

export const findSpecified = (inspected: InspectedDatabase): Specified[] =>
  SPECIFICATION.flatMap((column) => {
    const found = findColumn(inspected, column.table, column.column)
    return found ? [{ name: `${column.table}.${column.column}`, column, found }] : []
  })

/** A UUID needs 16 bytes where the type has a length. */
function isUsable(
  { adoption }: InspectedDatabase,
  { kind }: SpecifiedColumn,
  { data_type, max_length }: Column,
): boolean {
  const hasLength = kind !== 'uuid' || max_length === null || max_length === 16
  return hasLength && adoption.types[kind].includes(data_type)
}

export const isUnique = ({ schema }: InspectedDatabase, table: string, keys: readonly string[]): boolean =>
  schema.indexes.some(
    ({ table_name, is_unique, key_columns }) =>
      table_name === table && Boolean(is_unique) && keys.includes(key_columns),
  )
