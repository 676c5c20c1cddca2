/**
 * Settings of the servers in containers, as an operator, a managed database or an old installation may have them. Every
 * suite runs with them: nothing that a server decides may change what Latchkey reads and writes.
 */
export const ODD_POSTGRES = {
  client_encoding: 'LATIN1',
  datestyle: 'German, DMY',
  intervalstyle: 'sql_standard',
  timezone: 'Asia/Kathmandu',
  standard_conforming_strings: 'off',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  default_transaction_isolation: 'serializable',
  transform_null_equals: 'on',
  quote_all_identifiers: 'on',
  array_nulls: 'off',
  synchronous_commit: 'off',
} as const

/** Settings of MySQL and MariaDB. */
export const ODD_MYSQL = {
  autocommit: 0,
  completion_type: 'CHAIN',
  sql_mode: 'ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH',
  time_zone: '+05:45',
  transaction_isolation: 'READ-UNCOMMITTED',
  sql_safe_updates: 1,
  sql_select_limit: 1,
  sql_big_selects: 0,
  sql_auto_is_null: 1,
  foreign_key_checks: 0,
  default_storage_engine: 'MyISAM',
  group_concat_max_len: 8,
  collation_connection: 'latin1_swedish_ci',
  init_connect: 'set names latin1',
} as const

/** SQL that gives every later connection of MySQL or MariaDB the settings. */
export const setOddMysql = (): string =>
  `set ${Object.entries(ODD_MYSQL)
    .map(([name, value]) => `global ${name} = ${typeof value === 'number' ? value : `'${value}'`}`)
    .join(', ')}`
