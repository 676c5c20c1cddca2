import type { Queryable, Statement } from '../database/database.ts'
import { insertRows } from '../database/insert-rows.ts'

/** What an application stores about a user: a JSON object. */
export type Metadata = Readonly<Record<string, unknown>>

export const MAX_METADATA_BYTES = 8 * 1024
/** Readers of JSON have limits of their own: MySQL's is 100. */
const MAX_DEPTH = 32

const FIND: Statement = {
  name: 'metadata-find',
  text: 'select metadata from user_metadata where userid = $1',
}
const STORE: Statement = {
  name: 'metadata-store',
  text: {
    postgres: `insert into user_metadata (userid, metadata) values ($1, $2)
      on conflict (userid) do update set metadata = $2`,
    mysql: `insert into user_metadata (userid, metadata) values ($1, $2)
      on duplicate key update metadata = $2`,
  },
}

/** Selects the metadata of a user, or null, as a part of another statement. `userid` is SQL. */
export const selectMetadata = (userid: string): string =>
  `(select m.metadata from user_metadata m where m.userid = ${userid})`

export const parseMetadata = (stored: string | null | undefined): Metadata => JSON.parse(stored ?? '{}')

/** Creates the repository of the metadata. Given a transaction, it works inside that transaction. */
export const createMetadataRepository = (db: Queryable) => ({
  async find(userid: string): Promise<Metadata> {
    const [row] = await db.query<{ metadata: string }>(FIND, [db.toUuidValue(userid)])
    return parseMetadata(row?.metadata)
  },

  /** Stores the metadata of users who have none. */
  async importAll(rows: readonly { userid: string; metadata: Metadata }[]): Promise<void> {
    const values = rows.map(({ userid, metadata }) => [db.toUuidValue(userid), JSON.stringify(metadata)])
    await insertRows(db, 'user_metadata', ['userid', 'metadata'], values)
  },

  /** Stores an object without a fault. */
  async store(userid: string, metadata: Metadata): Promise<void> {
    await db.execute(STORE, [db.toUuidValue(userid), JSON.stringify(metadata)])
  },
})

/** Says what keeps a value from being stored as metadata. What is stored, every reader of JSON reads as it was sent. */
export function findMetadataFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'must be a JSON object'
  const fault = findValueFault(value, 1)
  if (fault) return fault
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_METADATA_BYTES) return 'must be at most 8 KiB of JSON'
  return undefined
}

function findValueFault(value: unknown, depth: number): string | undefined {
  // RFC 8259 §6: beyond 2^53 readers differ. The parser has already rounded the number.
  if (
    typeof value === 'number' &&
    !(Number.isSafeInteger(value) || (value % 1 !== 0 && Number.isFinite(value)))
  )
    return 'must not contain whole numbers beyond 2^53; send them as strings'
  // PostgreSQL's jsonb refuses NUL.
  if (typeof value === 'string' && (!value.isWellFormed() || value.includes('\0')))
    return 'must not contain NUL or half a surrogate pair'
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > MAX_DEPTH) return `must not be nested deeper than ${MAX_DEPTH} levels`
  for (const [key, child] of Object.entries(value)) {
    if (key === '__proto__') return 'must not have a member __proto__'
    const fault = findValueFault(key, depth) ?? findValueFault(child, depth + 1)
    if (fault) return fault
  }
  return undefined
}

/** Returns `target` changed by `patch` as RFC 7396 says: objects are merged, null removes a member, and all else is replaced. */
export function mergeMetadata(target: unknown, patch: Metadata): Metadata {
  const merged = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name)
    else merged.set(name, isObject(value) ? mergeMetadata(merged.get(name), value) : value)
  }
  return Object.fromEntries(merged)
}

const isObject = (value: unknown): value is Metadata =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
