// The preload file of `scriptify terminal` in TypeScript. Change it as you like: every exported name becomes a global of
// the session. A change takes effect in the next terminal, or after `.reload`.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseEnv } from 'node:util'

type Row = Record<string, unknown>
type Parameters = Record<string, unknown>
interface Result {
  /** A value for each column, since two columns may have the same name. */
  rows: unknown[][]
  columns: string[]
  /** Undefined for a statement that returns rows. */
  changed?: number
}
interface RunOptions {
  /** Dates and numbers as the server writes them: a Date would be shown in another zone, a number could lose digits. */
  asWritten?: boolean
}
interface Connection {
  run(sql: string, parameters: Parameters, options: RunOptions): Promise<Result>
  /** Closes it, with nothing running on it. */
  close(): Promise<void>
  /** Closes it at once, and ends what the server runs for it. */
  abort(): Promise<void>
}
interface Session {
  connection: Promise<Connection>
  /** Settles when no statement runs: they run one after the other, since some need a statement before and after. */
  last: Promise<unknown>
  /** The number of statements that have no result yet. */
  running: number
  isAbandoned: boolean
}

/** The project's folder, which a script may leave. */
const FOLDER = process.cwd()

/** The prompt awaits a promise with this mark. */
const AWAITED = Symbol.for('scriptify.awaited')

/** A database executor that connects when it is first used, so that the terminal starts without a database. */
export const executor = createExecutor()

/** Prints values, bounded in size. */
export function dump(...values: unknown[]): void {
  for (const value of values) {
    // console.log() of a value would be unbounded; dir() chooses colours by the same rule.
    console.dir(value, { depth: 4, maxArrayLength: 100, maxStringLength: 2000, customInspect: true })
  }
}

/** Runs a query with optional named parameters (`:name`) and prints its rows as a table. */
export function qq(sql: string, parameters: Parameters = {}): Promise<void> {
  return Object.assign(printQuery(sql, parameters), { [AWAITED]: true })
}

/** Returns the sixteen bytes of a UUID, written with dashes or without, in braces or not, in either case. */
export function uuid_to_bin(uuid: string): Buffer {
  const form =
    /^(\{)?([0-9a-f]{8})(-?)([0-9a-f]{4})\3([0-9a-f]{4})\3([0-9a-f]{4})\3([0-9a-f]{12})(\})?$/i.exec(uuid)
  if (!form || (form[1] === undefined) !== (form[8] === undefined))
    throw new TypeError(`'${uuid}' is not a UUID`)
  return Buffer.from(uuid.replace(/[{}-]/g, ''), 'hex')
}

function createExecutor() {
  let session: Session | undefined
  let isClosing = false
  const open = (): Session => {
    const forget = () => {
      if (session === opened) session = undefined
    }
    const connection = connect(databaseUrl(), forget)
    const opened = { connection, last: connection, running: 0, isAbandoned: false }
    // A connection that failed to open is not kept.
    opened.connection.catch(forget)
    return opened
  }
  const run = async (sql: string, parameters: Parameters, options: RunOptions = {}): Promise<Result> => {
    session ??= open()
    const current = session
    current.running += 1
    const result = current.last.then(async () => (await current.connection).run(sql, parameters, options))
    current.last = result.catch(() => undefined)
    try {
      return await unlessAbandoned(current, result)
    } finally {
      current.running -= 1
      closeIfUnused()
    }
  }
  const closeIfUnused = () => {
    if (!isClosing || session === undefined || session.running > 0) return
    session.connection.then(({ close }) => close()).catch(() => {})
    session = undefined
  }
  return {
    /** Runs a statement with named parameters (`:name`); returns its rows. */
    query: async (sql: string, parameters: Parameters = {}): Promise<Row[]> =>
      toObjects(await run(sql, parameters)),
    /** Runs a statement with named parameters; returns the number of changed rows. */
    execute: async (sql: string, parameters: Parameters = {}): Promise<number> =>
      (await run(sql, parameters)).changed ?? 0,
    /** Rows, columns and count at once, as qq() needs them. */
    run,
    /** Closes each connection as soon as nothing runs on it. The terminal calls this at the end of a script. */
    close(): void {
      isClosing = true
      closeIfUnused()
    },
    /** Ends the connection and its statement: the next statement opens another. The terminal calls this after Ctrl-C. */
    async reconnect(): Promise<void> {
      if (!session) return
      const { connection } = Object.assign(session, { isAbandoned: true })
      session = undefined
      const opened = await connection.catch(() => undefined)
      await opened?.abort()
    },
  }
}

/** Settles as the promise does, or never: what awaits an abandoned statement must neither print nor continue. */
function unlessAbandoned<T>(session: Session, promise: Promise<T>): Promise<T> {
  return promise.finally(() => (session.isAbandoned ? new Promise(() => {}) : undefined))
}

const toObjects = ({ rows, columns }: Result): Row[] =>
  rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])))

async function connect(url: string, onLost: () => void): Promise<Connection> {
  if (/^postgres(ql)?:/.test(url)) return connectToPostgres(url, onLost)
  if (/^(mysql|mariadb):/.test(url)) return connectToMysql(url.replace('mariadb:', 'mysql:'), onLost)
  throw refusal('DATABASE_URL must begin with postgres://, postgresql://, mysql:// or mariadb://')
}

/** Loads a driver that is installed beside this file, else in the project. */
async function loadDriver<Driver>(name: string, load: () => Promise<Driver>): Promise<Driver> {
  try {
    return await load()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
  }
  try {
    const path = createRequire(join(FOLDER, 'package.json')).resolve(name)
    return await import(pathToFileURL(path).href)
  } catch {
    throw refusal(`The project has no driver for this database: npm install ${name.split('/')[0]}`)
  }
}

/** Whatever a server has set, a session reads and writes as Latchkey does. A pooler passes these options on. */
const POSTGRES_SESSION =
  '-c DateStyle=ISO,\\ MDY -c IntervalStyle=postgres -c TimeZone=UTC -c standard_conforming_strings=on'
const MYSQL_SESSION = [
  `set names utf8mb4 collate utf8mb4_general_ci, time_zone = '+00:00', autocommit = 1, completion_type = 0,
    sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION',
    sql_safe_updates = 0, sql_big_selects = 1, sql_select_limit = 18446744073709551615, sql_auto_is_null = 0,
    unique_checks = 1, foreign_key_checks = 1, default_storage_engine = InnoDB, group_concat_max_len = 65536`,
  'set session transaction isolation level repeatable read, read write',
]

/** Adds the options of the session to those of the URL, of which the last one counts. */
function withSession(url: string): string {
  const [address, query] = url.split('?', 2)
  const parameters = new URLSearchParams(query)
  parameters.set('options', `${parameters.get('options') ?? ''} ${POSTGRES_SESSION}`.trim())
  return `${address}?${parameters}`
}

async function connectToPostgres(url: string, onLost: () => void): Promise<Connection> {
  const { default: pgPromise } = await loadDriver('pg-promise', () => import('pg-promise'))
  const library = pgPromise({ noWarnings: true })
  const { types } = library.pg
  const connection = await library(withSession(url)).connect({ direct: true, onLost })
  const { DATE, TIMESTAMP, TIMESTAMPTZ } = types.builtins
  const readTypes = {
    ...types,
    getTypeParser(oid: number) {
      const parse = types.getTypeParser(oid, 'text')
      if (![DATE, TIMESTAMP, TIMESTAMPTZ].includes(oid)) return parse
      return (text: string) => parse(text) ?? refuseTime(text)
    },
  }
  const asWrittenTypes = {
    ...types,
    getTypeParser: (oid: number) =>
      oid === types.builtins.BOOL || oid === types.builtins.BYTEA
        ? types.getTypeParser(oid, 'text')
        : (text: string) => text,
  }
  return {
    async run(sql, parameters, { asWritten }) {
      const query = new pgPromise.ParameterizedQuery({
        ...numberParameters(sql, parameters),
        rowMode: 'array',
        types: asWritten ? asWrittenTypes : readTypes,
      })
      const running = connection.result<unknown[]>(query)
      const { rows, fields, rowCount, command } = await asServerSaid(running)
      const givesRows = fields.length > 0 || command === 'SELECT'
      return { rows, columns: fields.map(({ name }) => name), ...(!givesRows && { changed: rowCount }) }
    },
    close: async () => connection.done(),
    async abort() {
      await connection.done()
      const other = await library(url).connect({ direct: true })
      await other.any('select pg_terminate_backend($1)', [connection.client.processID])
      await other.done()
    },
  }
}

/** mysql2 ignores the options of libpq, and would connect in clear. */
function withTls(given: string): { uri: string; ssl?: object } {
  const url = new URL(given)
  const [mode, authority] = ['sslmode', 'sslrootcert'].map((name) => url.searchParams.get(name))
  for (const name of ['sslmode', 'sslrootcert']) url.searchParams.delete(name)
  const others = [...url.searchParams.keys()].filter((name) => name !== 'ssl' && /ssl|tls/i.test(name))
  if (others.length > 0 || !['disable', 'require', 'verify-ca', 'verify-full'].includes(mode ?? 'disable'))
    throw refusal('DATABASE_URL must have sslmode=disable, require, verify-ca or verify-full')
  if (mode === 'disable' || !(mode || authority)) return { uri: url.href }
  const isVerified = mode !== 'require' || Boolean(authority)
  const verifyIdentity = !mode || mode === 'verify-full'
  const ca = authority ? { ca: readFileSync(authority, 'utf8') } : {}
  return { uri: url.href, ssl: { rejectUnauthorized: isVerified, verifyIdentity, ...ca } }
}

async function connectToMysql(url: string, onLost: () => void): Promise<Connection> {
  const { createConnection } = await loadDriver('mysql2/promise', () => import('mysql2/promise'))
  const connection = await createConnection({
    ...withTls(url),
    charset: 'utf8mb4',
    timezone: 'Z',
    namedPlaceholders: true,
  })
  connection.on('error', onLost)
  for (const sql of MYSQL_SESSION) await connection.query(sql)
  return {
    async run(sql, parameters, { asWritten }) {
      const statement = {
        sql,
        rowsAsArray: true,
        // A number that JavaScript cannot hold exactly is a string.
        supportBigNumbers: true,
        ...(asWritten && { dateStrings: true, bigNumberStrings: true }),
      }
      const values = parameters as Record<string, string>
      const [result, fields] = await asServerSaid(connection.execute(statement, values))
      if (!Array.isArray(result)) return { rows: [], columns: [], changed: result.affectedRows }
      return { rows: result as unknown[][], columns: (fields ?? []).map(({ name }) => name) }
    },
    close: () => connection.end(),
    async abort() {
      // KILL comes first: destroy() closes one half of the socket, and still reads the answer to what runs.
      const other = await createConnection({ uri: url })
      await other.query('kill ?', [connection.threadId])
      await other.end()
      connection.destroy()
    },
  }
}

/** An error that the user can act on: the frames of this file would not help. */
const refusal = (message: string): Error => Object.assign(new Error(message), { stack: `Error: ${message}` })

/** `pg` gives null for a time that it cannot read. */
function refuseTime(text: string): never {
  throw refusal(`The time ${text} cannot be read; set DateStyle of the database to ISO`)
}

/** Leaves of a driver's error what the server said: the rest is its frames, its type parsers and empty members. */
async function asServerSaid<Result>(running: Promise<Result>): Promise<Result> {
  try {
    return await running
  } catch (error) {
    if (!(error instanceof Error)) throw error
    error.stack = `${error.name}: ${error.message}`
    for (const [key, value] of Object.entries(error))
      if (value === undefined || key === 'query') Reflect.deleteProperty(error, key)
    throw error
  }
}

/** Replaces each `:name` whose value is given by `$1`, `$2` and so on; a cast (`::`) and a slice (`[1:n]`) stay. */
function numberParameters(sql: string, parameters: Parameters): { text: string; values: unknown[] } {
  const values: unknown[] = []
  const text = sql.replace(/(?<!:):([a-z_]\w*)/gi, (piece, name: string) =>
    Object.hasOwn(parameters, name) ? `$${values.push(parameters[name])}` : piece,
  )
  return { text, values }
}

/** The setting of the services: the environment, else the file that CREDENTIALS_FILE names, else config/<APP_ENV>/. */
function databaseUrl(): string {
  const environment = process.env.APP_ENV || 'dev'
  const files = ['settings.env', 'credentials.env']
    .map((name) => join(FOLDER, 'config', environment, name))
    .filter(existsSync)
    .concat(process.env.CREDENTIALS_FILE || [])
  const settings = Object.assign({}, ...files.map((file) => parseEnv(readFileSync(file, 'utf8'))))
  const url = process.env.DATABASE_URL || settings.DATABASE_URL
  if (!url) throw refusal(`DATABASE_URL is not set, neither in the environment nor in config/${environment}/`)
  return url
}

async function printQuery(sql: string, parameters: Parameters): Promise<void> {
  const begin = performance.now()
  const { rows, columns, changed } = await executor.run(sql, parameters, { asWritten: true })
  const took = `(${(performance.now() - begin).toFixed(1)} ms)`
  if (changed !== undefined) return console.log(`${changed} row(s) changed ${took}`)
  console.log(`${table(columns, rows)}${rows.length} row(s) ${took}`)
}

/** Aligns cells below their titles; NULL is a word, sixteen bytes are a UUID. */
function table(columns: string[], rows: unknown[][], maxRows = 1000): string {
  const lines = [columns, ...rows.slice(0, maxRows).map((row) => row.map((value) => cell(value)))]
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => [...(line[index] ?? '')].length)))
  const print = (cells: string[]) =>
    cells
      .map((text, index) => text + ' '.repeat((widths[index] ?? 0) - [...text].length))
      .join(' | ')
      .trimEnd()
  const [titles = [], ...body] = lines
  const hidden = rows.length > maxRows ? [`… ${rows.length - maxRows} more`] : []
  return [
    print(titles),
    widths.map((width) => '-'.repeat(width)).join('-+-'),
    ...body.map(print),
    ...hidden,
    '',
  ].join('\n')
}

function cell(value: unknown, maxWidth = 80): string {
  const text = cellText(value)
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
    .replaceAll('\x1b', '\\e')
  return [...text].length > maxWidth ? `${[...text].slice(0, maxWidth - 1).join('')}…` : text
}

function cellText(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (!Buffer.isBuffer(value)) return typeof value === 'object' ? JSON.stringify(value) : String(value)
  const hex = value.toString('hex')
  return value.length === 16 ? hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') : `0x${hex}`
}
