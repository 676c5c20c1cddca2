import {
  type Adoption,
  alter,
  type Column,
  isLoginColumn,
  type SpecifiedColumn,
} from '../adoption/adoption.ts'

const IN_SCHEMA = 'table_schema = database()'
const TEXTS = ['varchar', 'char', 'tinytext', 'text', 'mediumtext', 'longtext']

/** The collation of migration 0003, which has different names in MySQL and MariaDB. */
export const COLLATE =
  '/*!80000 collate utf8mb4_0900_as_ci */ /*M!101000 collate utf8mb4_uca1400_nopad_as_ci */'

function typeOf(column: SpecifiedColumn, found?: Column): string {
  const { kind, length = 0 } = column
  if (kind === 'moment') return found?.data_type === 'timestamp' ? 'timestamp' : 'datetime'
  if (kind !== 'text' && kind !== 'hash') return found?.full_type ?? 'binary(16)'
  // A wider column loses nothing; the columns of the login have the length of their index.
  const width = isLoginColumn(column) ? length : Math.max(length, found?.max_length ?? 0)
  const isVarying = isLoginColumn(column) || !found || /char$/.test(found.data_type)
  const charset = isLoginColumn(column) ? `character set utf8mb4 ${COLLATE}` : 'character set utf8mb4'
  return `${isVarying ? `varchar(${width})` : found.data_type} ${charset}`
}

/** `modify` states a whole column: what the specification leaves open has to be repeated. */
const redefinition = (column: SpecifiedColumn, found?: Column): string =>
  [
    column.column,
    typeOf(column, found),
    column.isNullable ? 'null' : 'not null',
    ...(column.setBy === 'update' ? ['on update current_timestamp'] : []),
    ...(column.setBy === 'insert' && !found?.has_default
      ? [column.kind === 'key' ? 'auto_increment' : 'default current_timestamp']
      : []),
  ].join(' ') + (found?.kept_clauses ?? '')

/** The adoption of tables that another program created in MySQL or MariaDB. */
export const mysqlAdoption: Adoption = {
  catalog: {
    // Galera replicates InnoDB only; Group Replication refuses to change anything else.
    tables: `select table_name as table_name, table_type <> 'VIEW' as is_table, engine = 'InnoDB' as is_transactional,
        true /*M!100101 and (engine = 'InnoDB' or not exists (select 1 from information_schema.system_variables
          where variable_name = 'WSREP_ON' and global_value = 'ON')) */ as is_replicated
      from information_schema.tables where ${IN_SCHEMA}`,
    // MariaDB gives the text NULL as the default of a column that has none.
    columns: `select table_name as table_name, lower(column_name) as column_name, lower(data_type) as data_type,
        column_type as full_type, character_maximum_length as max_length, is_nullable = 'YES' as is_nullable,
        (extra like '%auto_increment%' or coalesce(column_default, 'NULL') <> 'NULL') as has_default,
        extra like '%on update%' as is_set_on_update,
        concat(
          case when coalesce(column_default, 'NULL') = 'NULL' then ''
            when version() like '%MariaDB%' then concat(' default ', column_default)
            when extra like '%DEFAULT_GENERATED%' then concat(' default (', column_default, ')')
            else concat(' default ', quote(column_default)) end,
          if(column_comment = '', '', concat(' comment ', quote(column_comment)))) as kept_clauses,
        collation_name as collation_name
      from information_schema.columns where ${IN_SCHEMA}`,
    // An index on a prefix or on an expression does not keep whole values unique.
    indexes: `select table_name as table_name,
        min(non_unique) = 0 and count(sub_part) = 0 and count(column_name) = count(*) as is_unique,
        lower(group_concat(column_name order by seq_in_index)) as key_columns
      from information_schema.statistics where ${IN_SCHEMA} group by table_name, index_name`,
  },
  types: {
    uuid: ['binary'],
    text: TEXTS,
    hash: TEXTS,
    moment: ['datetime', 'timestamp'],
    key: ['int', 'bigint', 'mediumint', 'smallint'],
  },
  convertible: { moment: ['date'] },
  uniqueKey: (column) => column,
  fold: (column) => `convert(${column} using utf8mb4) ${COLLATE}`,
  narrowsNames: true,
  // 0000-00-00, and a day or month 0.
  impossibleMoment: (column) => `cast(${column} as char) regexp '^0000|-00'`,
  addColumn: (column) => alter(column.table, `add column ${redefinition(column)}`),
  redefine: (column, found) => alter(column.table, `modify ${redefinition(column, found)}`),
  addUniqueIndex: (column, found) =>
    // An index that is not unique can have the name of the specification.
    alter(
      column.table,
      `modify ${redefinition(column, found)}, add unique index uq_${column.column} (${column.column})`,
    ),
}
