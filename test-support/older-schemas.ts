import type { Database } from '@latchkey/shared/database/database.ts'
import { type Engine, engine, isCluster, isPostgres } from './engine.ts'

/** The specified tables as another program created them. */
const SPECIFIED = {
  mysql: `
    create table users (
      userid binary(16) default (unhex(replace(uuid(), '-', ''))) not null,
      name varchar(50),
      email varchar(120),
      username varchar(20) not null,
      password char(40) not null,
      created_at datetime default (now()),
      updated_at datetime on update now(),
      deleted_at datetime,
      role varchar(50),
      constraint pk_users primary key (userid)
    ) engine = InnoDB default character set utf8mb4;
    create unique index ix_email on users (email);
    create unique index ix_username on users (username);
    create table users_property (
      id integer auto_increment not null,
      name varchar(50),
      value varchar(250),
      userid binary(16) not null,
      constraint pk_users_property primary key (id),
      constraint fk_user_property foreign key (userid) references users (userid)
    ) engine = InnoDB default character set utf8mb4;`,
  postgres: `
    create table users (
      userid uuid default gen_random_uuid() primary key,
      name varchar(50),
      email varchar(120),
      username varchar(20) not null,
      password char(40) not null,
      created_at timestamp default (now() at time zone 'utc'),
      updated_at timestamp,
      deleted_at timestamp,
      role varchar(50)
    );
    create unique index ix_email on users (email);
    create unique index ix_username on users (username);
    create table users_property (
      id serial primary key,
      name varchar(50),
      value varchar(250),
      userid uuid not null constraint fk_user_property references users (userid)
    );`,
}

/** Plain indexes: nothing keeps two users from having one e-mail. */
const PLAIN_INDEXES = {
  mysql: SPECIFIED.mysql
    .replace('unique index ix_email', 'index ix_users_email')
    .replace('unique index ix_username', 'index ix_username'),
  postgres: SPECIFIED.postgres
    .replace('unique index ix_email', 'index ix_users_email')
    .replace('unique index ix_username', 'index ix_username'),
}

/** The defaults of a server of 2010: a character set of western Europe, short columns, no foreign key. */
const LATIN = {
  mysql: `
    create table users (
      userid binary(16) not null,
      name varchar(20) character set latin1 collate latin1_swedish_ci,
      email varchar(80) character set latin1 collate latin1_general_cs,
      username varchar(15) character set utf8mb3 collate utf8mb3_bin not null,
      password char(40) character set latin1,
      role varchar(10) character set latin1 not null default 'user' comment 'it''s a role',
      created_at timestamp null,
      updated_at datetime,
      deleted_at datetime,
      primary key (userid),
      unique key users_email (email(30)),
      unique key uq_login (username)
    ) default character set latin1 engine = MyISAM;
    create table users_property (
      id bigint not null primary key,
      name varchar(30),
      value varchar(100),
      userid binary(16) not null,
      key (userid)
    ) default character set utf8mb3 engine = MyISAM;`,
  postgres: `
    create table users (
      userid uuid not null,
      name character(20),
      email character(80),
      username varchar(15) not null,
      password char(40),
      role varchar(10) not null default 'user',
      created_at date,
      updated_at timestamp,
      deleted_at timestamp
    );
    create unique index users_email on users (email) where deleted_at is null;
    alter table users add constraint uq_login unique (username);
    create table users_property (
      id bigint not null primary key,
      name varchar(30),
      value varchar(100),
      userid uuid not null
    );`,
}

/** The columns of a schema that had no times of change, roles and properties yet. */
const FEWER_COLUMNS = {
  mysql: `
    create table users (
      userid binary(16) not null primary key,
      email varchar(255) not null,
      username varchar(255) not null,
      password varchar(60) not null,
      name text,
      deleted_at datetime,
      unique key ix_email (email(190)),
      unique key ix_username (username(190))
    ) character set utf8mb4 collate utf8mb4_unicode_ci;`,
  postgres: `
    create table users (
      userid uuid primary key,
      email varchar(255) not null unique,
      username varchar(255) not null unique,
      password varchar(60) not null,
      name text,
      deleted_at timestamptz
    );`,
}

/** Schemas of older installations, and the specification's own. */
export const OLDER_SCHEMAS = {
  'the specification': SPECIFIED,
  'plain indexes': PLAIN_INDEXES,
  'another character set, shorter columns': LATIN,
  'fewer columns': FEWER_COLUMNS,
} as const

export type OlderSchema = keyof typeof OLDER_SCHEMAS

export const olderSchema = (name: OlderSchema, on: Engine = engine()): string => {
  const sql = OLDER_SCHEMAS[name][isPostgres(on) ? 'postgres' : 'mysql']
  // A cluster replicates no rows of MyISAM.
  return isCluster(on) ? sql.replaceAll('MyISAM', 'InnoDB') : sql
}

const EVERYTHING: Record<'mysql' | 'postgres', string> = {
  mysql: `select table_name as place, concat_ws(' ', column_name, column_type, is_nullable, column_default, extra,
      collation_name, column_comment) as what from information_schema.columns where table_schema = database()
    union all select table_name, concat_ws(' ', index_name, seq_in_index, column_name, non_unique, sub_part)
      from information_schema.statistics where table_schema = database()
    union all select table_name, concat_ws(' ', engine, table_collation, table_comment)
      from information_schema.tables where table_schema = database()
    union all select table_name, constraint_name from information_schema.table_constraints
      where table_schema = database()
    order by 1, 2`,
  postgres: `select table_name as place, concat_ws(' ', column_name, data_type, character_maximum_length, is_nullable,
      column_default, is_identity) as what from information_schema.columns where table_schema = current_schema()
    union all select tablename, indexdef from pg_indexes where schemaname = current_schema()
    union all select conrelid::regclass::text, pg_get_constraintdef(oid) from pg_constraint
      where connamespace = current_schema()::regnamespace
    union all select tgrelid::regclass::text, pg_get_triggerdef(oid) from pg_trigger
    union all select proname, prosrc from pg_proc where pronamespace = current_schema()::regnamespace
    order by 1, 2`,
}

/** Everything that a migration could change in a database, as text. */
export async function dumpSchema(db: Database): Promise<string> {
  const text = EVERYTHING[isPostgres() ? 'postgres' : 'mysql']
  return (
    (await db.query<{ place: string; what: string }>({ name: 'test-schema', text }))
      // The lock of migrations on a cluster.
      .filter(({ place }) => !place.startsWith('latchkey_lock'))
      .map(({ place, what }) => `${place}: ${what}`)
      .join('\n')
  )
}
