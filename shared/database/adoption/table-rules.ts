import { BLOCKING_FIXABLE, type Difference, FIXABLE, HARMLESS } from './difference.ts'
import { findColumn, type Given, hasTable, isPending } from './given.ts'
import { SPECIFICATION } from './specification.ts'

export const findStorage = ({ schema, adoption }: Given): Difference[] =>
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

export function findDefaults(given: Given): Difference[] {
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

export function findForeignKey(given: Given): Difference[] {
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
export const findUnknownColumns = (given: Given): Difference[] =>
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

export function findServerDifferences({ schema: { server } }: Given): Difference[] {
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
