import { readPostgresUrl } from './connection-url.ts'

interface StartUp {
  /** Options that those of the URL override. */
  defaults?: string
  /** Options that override those of the URL. */
  fixed?: string
}

/** One setting of a session. A server, a database or a login may have any other value by default. */
interface Setting {
  name: string
  value: string
  /** Values that a session may have where a pooler ignores the option; without it, any. */
  accepted?: RegExp
}

/**
 * The settings that decide how the server reads and writes values. They are start-up options, because a pooler in transaction mode
 * applies these five to the connection of each transaction; what a statement sets would stay with another client.
 */
const CONNECTION_SETTINGS: readonly Setting[] = [
  { name: 'client_encoding', value: 'UTF8', accepted: /^UTF8$/ },
  // pg reads no other style.
  { name: 'DateStyle', value: 'ISO, MDY', accepted: /^ISO\b/ },
  { name: 'IntervalStyle', value: 'postgres' },
  { name: 'standard_conforming_strings', value: 'on' },
  // A time that the server writes by its own clock into a column without a time zone is UTC too, as on MySQL.
  { name: 'TimeZone', value: 'UTC', accepted: /^(Etc\/)?(UTC|GMT)$/i },
]

const optionsOf = (settings: readonly Setting[]): string =>
  settings.map(({ name, value }) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`).join(' ')

/**
 * Returns what the URL says, and the start-up options of a connection. `pg` would let the options of a URL replace all
 * others; of options that occur twice, PostgreSQL takes the last.
 */
export function withStartUp(
  url: string,
  { defaults = '', fixed = '' }: StartUp = {},
): ReturnType<typeof readPostgresUrl> & { options: string } {
  const ofUrl = new URL(url).searchParams.get('options') ?? ''
  return {
    ...readPostgresUrl(url),
    options: `${defaults} ${ofUrl} ${fixed} ${optionsOf(CONNECTION_SETTINGS)}`.trim(),
  }
}

/** SQL for the settings of the connection, as `requireConnectionSettings` reads them. */
export const READ_CONNECTION_SETTINGS = `json_build_object(${CONNECTION_SETTINGS.map(({ name }) => `'${name}', current_setting('${name}')`).join(', ')})`

/** Fails where the connection lacks its start-up options, and another value would change what is read or written. */
export function requireConnectionSettings(settings: Readonly<Record<string, string>>): void {
  for (const { name, value, accepted = /^/ } of CONNECTION_SETTINGS) {
    const found = settings[name] ?? ''
    if (!accepted.test(found)) throw wrongSetting(`${name} = ${found}`, value)
  }
}

/** SQLSTATE 08004: the client rejects the connection. */
const wrongSetting = (found: string, value: string): Error =>
  Object.assign(
    new Error(
      `The session has ${found}, and Latchkey needs ${value}: let the pooler accept start-up options, as PgBouncer 1.21 and later do, or set this value for the database`,
    ),
    { code: '08004' },
  )

/** SQL that is true if the server refuses every change, as a replica does. */
export const IS_READ_ONLY = "current_setting('transaction_read_only') = 'on'"

/** SQL that is true if a client of pg speaks to the server itself: a pooler gives its clients other process ids. */
export const isDirect = (client: object): string =>
  `pg_backend_pid() = ${Number(Reflect.get(client, 'processID'))}`

/**
 * SQL that sets what no pooler passes on, on a connection to the server itself. Behind a pooler, transactions name their
 * isolation, and a statement that fails because of another one is repeated.
 */
export const setIfDirect = (client: object, settings: Readonly<Record<string, string>> = {}): string =>
  `case when ${isDirect(client)} then concat(
    set_config('default_transaction_isolation', 'read committed', false),
    set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false)
    ${Object.entries(settings)
      .map(([name, value]) => `, set_config('${name}', '${value}', false)`)
      .join('')}) end`
