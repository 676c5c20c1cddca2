import type { Queryable } from './database.ts'

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

/** How each dialect names the type of `userid` in its information schema. */
const USERID_TYPE = { postgres: 'uuid', mysql: 'binary' } as const

const LIST_COLUMNS = {
  name: 'adopt-columns',
  text: `select table_name as "table", column_name as "column", data_type as "type"
    from information_schema.columns
    where table_schema = current_schema() and table_name in ('users', 'users_property')`,
  mysql: `select table_name as \`table\`, column_name as \`column\`, data_type as \`type\`
    from information_schema.columns
    where table_schema = database() and table_name in ('users', 'users_property')`,
}

interface Column {
  table: string
  column: string
  type: string
}

/** Tells whether the database has a table `users`, whoever made it. */
export async function hasUsersTable(db: Queryable): Promise<boolean> {
  return (await db.query<Column>(LIST_COLUMNS)).some(({ table }) => table === 'users')
}

/** How the tables `users` and `users_property` differ from the specified ones; nothing when they can be used. */
export async function findForeignSchema(db: Queryable): Promise<string[]> {
  const columns = await db.query<Column>(LIST_COLUMNS)
  return Object.entries(SPECIFIED_COLUMNS).flatMap(([table, names]) => {
    const own = new Map(
      columns.filter((each) => each.table === table).map((each) => [each.column.toLowerCase(), each.type]),
    )
    // A missing users_property is made by the migration.
    if (own.size === 0) return []
    const missing = names.filter((name) => !own.has(name)).map((name) => `${table} has no column ${name}`)
    const type = own.get('userid')?.toLowerCase()
    const wrongType =
      type && type !== USERID_TYPE[db.dialect]
        ? [`${table}.userid is ${type}, not ${USERID_TYPE[db.dialect]}`]
        : []
    return [...missing, ...wrongType]
  })
}
