import type { Adoption, Column, Kind, Schema, SpecifiedColumn } from './schema.ts'
import { SPECIFICATION } from './specification.ts'

/** What the rules judge. */
export interface Given {
  schema: Schema
  adoption: Adoption
  /** The migrations that are recorded. */
  applied: ReadonlySet<string>
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

export const nameOf = ({ table, column }: Pick<SpecifiedColumn, 'table' | 'column'>): string =>
  `${table}.${column}`

export const isPending = ({ applied }: Given, migration: string | undefined): boolean =>
  migration !== undefined && !applied.has(migration)

/** Whether a pending migration sets the type, the length and the collation of `column`. */
export const isRedefined = (given: Given, column: SpecifiedColumn): boolean =>
  isPending(given, given.adoption.redefinedBy(column))

/** Whether every migration that changes the specified tables is applied. */
export const isMigrated = (given: Given): boolean =>
  !SPECIFICATION.some((column) => isRedefined(given, column)) && !isPending(given, given.adoption.uniqueSince)

/** A UUID needs 16 bytes where the type has a length. */
export function isUsable({ adoption }: Given, kind: Kind, { data_type, max_length }: Column): boolean {
  const hasLength = kind !== 'uuid' || max_length === null || max_length === 16
  return hasLength && adoption.types[kind].includes(data_type)
}
