import {
  type Column,
  type Index,
  type Schema,
  SPECIFICATION,
  type SpecifiedColumn,
} from '../adoption/adoption.ts'
import type { Given } from '../adoption/find-differences.ts'
import { mysqlAdoption } from '../mysql/adoption.ts'
import { postgresAdoption } from '../postgres/adoption.ts'

const COLLATION = 'utf8mb4_0900_as_ci'

export type Engine = 'mysql' | 'postgres'
export const ADOPTIONS = { mysql: mysqlAdoption, postgres: postgresAdoption }

function specifiedColumn(
  engine: Engine,
  { table, column, kind, length, isNullable }: SpecifiedColumn,
): Column {
  const isText = kind === 'text'
  return {
    table_name: table,
    column_name: column,
    data_type: ADOPTIONS[engine].types[kind][0] ?? '',
    full_type: `full ${column}`,
    max_length: kind === 'uuid' && engine === 'mysql' ? 16 : (length ?? null),
    is_nullable: Boolean(isNullable),
    has_default: column === 'id' || column === 'created_at',
    is_set_on_update: column === 'updated_at',
    kept_clauses: '',
    charset_name: isText && engine === 'mysql' ? 'utf8mb4' : null,
    collation_name: isText && engine === 'mysql' ? COLLATION : null,
  }
}

export const index = (table_name: string, index_name: string, key_columns: string): Index => ({
  table_name,
  index_name,
  key_columns,
  is_unique: true,
})

/** What the catalog of an adopted and migrated database says. */
function specifiedSchema(engine: Engine): Schema {
  const key = (column: string) => ADOPTIONS[engine].uniqueKey(column)
  return {
    tables: ['users', 'users_property'].map((table_name) => ({
      table_name,
      is_table: true,
      is_transactional: true,
    })),
    columns: SPECIFICATION.map((column) => specifiedColumn(engine, column)),
    indexes: [
      index('users', 'PRIMARY', 'userid'),
      index('users', 'ix_email', key('email')),
      index('users', 'ix_username', key('username')),
      index('users_property', 'PRIMARY', 'id'),
    ],
  }
}

export interface Change {
  engine?: Engine
  isMigrated?: boolean
  change?: (schema: Schema) => Partial<Schema>
}

export function givenBy({ engine = 'mysql', isMigrated = true, change = () => ({}) }: Change): Given {
  const schema = specifiedSchema(engine)
  return { adoption: ADOPTIONS[engine], isMigrated, schema: { ...schema, ...change(schema) } }
}

export const columnWith =
  (name: string, facts: Partial<Column>) =>
  ({ columns }: Schema): Partial<Schema> => ({
    columns: columns.map((column) =>
      `${column.table_name}.${column.column_name}` === name ? { ...column, ...facts } : column,
    ),
  })
export const withoutColumn =
  (name: string) =>
  ({ columns }: Schema): Partial<Schema> => ({
    columns: columns.filter((column) => `${column.table_name}.${column.column_name}` !== name),
  })
export const withoutIndex =
  (key: string) =>
  ({ indexes }: Schema): Partial<Schema> => ({
    indexes: indexes.filter(({ key_columns }) => key_columns !== key),
  })
export const withIndex =
  (added: Index) =>
  ({ indexes }: Schema): Partial<Schema> => ({ indexes: [...indexes, added] })
