import { BLOCKING_FIXABLE, type Difference, FIXABLE } from './difference.ts'
import { type Given, hasTable, isPending, nameOf, specified } from './given.ts'
import type { Column, SpecifiedColumn } from './schema.ts'
import { isLoginColumn } from './specification.ts'

const isUniqueIn = ({ schema }: Given, table: string, keys: readonly string[]): boolean =>
  schema.indexes.some(
    ({ table_name, is_unique, key_columns }) =>
      table_name === table && Boolean(is_unique) && keys.includes(key_columns),
  )

export const findMissingKeys = (given: Given): Difference[] =>
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
export const findSharedNames = (given: Given): Difference[] =>
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
export const findMisnamedIndexes = (given: Given): Difference[] =>
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
