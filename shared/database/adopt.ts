import type { Queryable, Statement } from './database.ts'

const SPECIFIED_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  users: [
    'userid',
    'name',
    'email',
    'username',
    'password',
    'role',
    'created_at',
    'updated_at',
    'deleted_at',
  ],
  users_property: ['id', 'name', 'value', 'userid'],
}

const LIST_COLUMNS: Statement = {
  name: 'adopt-columns',
  text: ({ columns }) => `select table_name, column_name, data_type from (${columns}) as columns_of_schema
    where table_name in ('users', 'users_property')`,
}

interface Column {
  table_name: string
  column_name: string
  data_type: string
}

/** Whether the database has a table `users`, Latchkey's or another. */
export async function hasUsersTable(db: Queryable): Promise<boolean> {
  return (await db.query<Column>(LIST_COLUMNS)).some((column) => column.table_name === 'users')
}

/** How the tables `users` and `users_property` differ from the specified ones; empty where they can be used. */
export async function findForeignSchema(db: Queryable): Promise<string[]> {
  const columns = await db.query<Column>(LIST_COLUMNS)
  return Object.entries(SPECIFIED_COLUMNS).flatMap(([table, names]) => {
    const found = new Map(
      columns
        .filter((column) => column.table_name === table)
        .map((column) => [column.column_name.toLowerCase(), column.data_type.toLowerCase()]),
    )
    // The migration creates a missing users_property.
    if (found.size === 0) return []
    const missing = names.filter((name) => !found.has(name)).map((name) => `${table} has no column ${name}`)
    return [...missing, ...findWrongType(table, found.get('userid'), db.dialect.uuidType)]
  })
}

const findWrongType = (table: string, type: string | undefined, uuidType: string): string[] =>
  type && type !== uuidType ? [`${table}.userid is ${type}, not ${uuidType}`] : []
