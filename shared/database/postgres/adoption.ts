import type { Adoption, Column, SpecifiedColumn } from '../adoption/schema.ts'
import { alter, standardStatements } from '../adoption/standard-statements.ts'

const CREATES_TRIGGER = '0001_users'
const MATCHES_WITHOUT_CASE = '0003_match_without_case'
const WIDENS_PASSWORD = '0002_widen_password'

const IN_SCHEMA = 'current_schema()::regnamespace'

function typeOf({ kind, length = 0 }: SpecifiedColumn, found?: Column): string {
  if (kind === 'moment') return 'timestamptz'
  if (kind !== 'text') return kind === 'uuid' ? 'uuid' : 'integer'
  return found && found.max_length === null
    ? found.data_type
    : `varchar(${Math.max(length, found?.max_length ?? 0)})`
}

function redefinition(column: SpecifiedColumn, found: Column): string {
  const usable = postgresAdoption.types[column.kind].includes(found.data_type)
  const isTooShort = found.max_length !== null && found.max_length < (column.length ?? 0)
  const changes = [
    !usable || isTooShort ? `alter column ${column.column} type ${typeOf(column, found)}` : undefined,
    `alter column ${column.column} ${column.isNullable ? 'drop' : 'set'} not null`,
  ]
  return changes.filter((change) => change !== undefined).join(', ')
}

const folded = (column: string): string => `lower(${column})`
const withoutSpace = (column: string): string => `regexp_replace(lower(${column}), '\\s+', '', 'g')`

/** How PostgreSQL takes over tables that another program created. */
export const postgresAdoption: Adoption = {
  catalog: {
    tables: `select relname as table_name, relkind in ('r', 'p') as is_table, true as is_transactional
      from pg_class where relnamespace = ${IN_SCHEMA} and relkind in ('r', 'p', 'v', 'm', 'f')`,
    columns: `select table_name, column_name,
        case data_type when 'USER-DEFINED' then udt_name else data_type end as data_type, data_type as full_type,
        character_maximum_length as max_length, is_nullable = 'YES' as is_nullable,
        (column_default is not null or is_identity = 'YES' or is_generated = 'ALWAYS') as has_default,
        column_name = 'updated_at' and exists (
          -- 2: before, 16: update.
          select from pg_trigger join pg_class on pg_class.oid = tgrelid
          where relnamespace = ${IN_SCHEMA} and relname = columns.table_name
            and not tgisinternal and tgenabled <> 'D' and tgtype & 2 > 0 and tgtype & 16 > 0
        ) as is_set_on_update,
        '' as kept_clauses, null as charset_name, null as collation_name
      from information_schema.columns where table_schema = current_schema()`,
    indexes: `select owner.relname as table_name, own.relname as index_name,
        indisunique and indisvalid and indpred is null as is_unique,
        (select string_agg(replace(replace(pg_get_indexdef(indexrelid, number, true), '::text', ''), '"', ''), ','
            order by number)
          from generate_series(1, indnkeyatts) number) as key_columns
      from pg_index join pg_class own on own.oid = indexrelid join pg_class owner on owner.oid = indrelid
      where owner.relnamespace = ${IN_SCHEMA}`,
    foreignKeys: `select owner.relname as table_name, own.attname as column_name, other.relname as referenced_table,
        referenced.attname as referenced_column
      from pg_constraint join pg_class owner on owner.oid = conrelid join pg_class other on other.oid = confrelid
        join pg_attribute own on own.attrelid = conrelid and own.attnum = conkey[1]
        join pg_attribute referenced on referenced.attrelid = confrelid and referenced.attnum = confkey[1]
      where contype = 'f' and cardinality(conkey) = 1 and owner.relnamespace = ${IN_SCHEMA}`,
    server: `select getdatabaseencoding() as encoding, getdatabaseencoding() = 'UTF8' as stores_unicode,
      case when getdatabaseencoding() = 'UTF8' then lower(chr(201)) = chr(233) else true end as folds_unicode`,
  },
  types: {
    uuid: ['uuid'],
    text: ['character varying', 'text', 'citext'],
    moment: ['timestamp with time zone', 'timestamp without time zone'],
    key: ['integer', 'bigint', 'smallint'],
  },
  convertible: { text: ['character'], moment: ['date'] },
  uniqueKey: folded,
  redefinedBy: ({ column }) => (column === 'password' ? WIDENS_PASSWORD : undefined),
  uniqueSince: MATCHES_WITHOUT_CASE,
  updatedAtSince: CREATES_TRIGGER,
  redefinesNull: false,
  likeness: (column, likeness) =>
    ({
      case: folded(column),
      space: withoutSpace(column),
      // Only UTF-8 has normal forms.
      accent: `case when getdatabaseencoding() = 'UTF8'
        then regexp_replace(normalize(${withoutSpace(column)}, NFD), '[\\u0300-\\u036f]', '', 'g')
        else ${withoutSpace(column)} end`,
    })[likeness],
  requireRights: `do $$
    begin
      if pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' then
        raise exception 'The database is read-only';
      end if;
      if not has_schema_privilege(current_schema(), 'create') then
        raise exception 'The user % may not create tables', current_user;
      end if;
      if exists (
        select from pg_class where relnamespace = ${IN_SCHEMA} and relname in ('users', 'users_property')
          and not pg_has_role(relowner, 'usage')
      ) then
        raise exception 'The user % does not own the tables users and users_property', current_user;
      end if;
    end
    $$`,
  statements: {
    ...standardStatements,
    addColumn: (column) =>
      alter(
        column.table,
        `add column ${column.column} ${typeOf(column)}${column.column === 'created_at' ? ' default now()' : ''}`,
      ),
    redefine: (column, found) => alter(column.table, redefinition(column, found)),
    dropNotNull: ({ table_name, column_name }) =>
      alter(table_name, `alter column ${column_name} drop not null`),
    addUniqueIndex: ({ table }, _, { name, key, isOccupied }) =>
      `${isOccupied ? `drop index ${name}; ` : ''}create unique index ${name} on ${table} (${key});`,
    renameIndex: (_, from, to) => `alter index "${from}" rename to ${to};`,
    setCreatedAt: ({ table_name }) => alter(table_name, 'alter column created_at set default now()'),
    // As in migration 0001.
    setUpdatedAt: ({
      table_name,
    }) => `create or replace function latchkey_set_updated_at() returns trigger language plpgsql as $$
begin
  if current_setting('latchkey.keep_updated_at', true) is distinct from 'on' then
    new.updated_at := now();
  end if;
  return new;
end
$$;
create or replace trigger users_updated_at before update on ${table_name}
  for each row execute function latchkey_set_updated_at();`,
    generateIds: ({ table_name }) =>
      `${alter(table_name, 'alter column id add generated by default as identity')}
select setval(pg_get_serial_sequence('${table_name}', 'id'), (select coalesce(max(id), 0) + 1 from ${table_name}), false);`,
  },
}
