import { randomUUID } from 'node:crypto'
import { changeRow } from '../database/change-row.ts'
import { type Columns, namesOf, toInsert, valuesOf } from '../database/columns.ts'
import type { Queryable, Statement } from '../database/database.ts'
import { insertRows } from '../database/insert-rows.ts'
import { sealedColumn } from './sealed-text-repository.ts'
import { FACTORS_PROPERTY } from './user-factors.ts'
import type { UserRepository } from './user-repository.ts'

/** One row of `user_factor`. */
export interface Factor {
  id: string
  kind: string
  name: string | undefined
  /** The sealed secret of an authenticator app, or what is known of a passkey. */
  data: string
  createdAt: Date
  /** Undefined until the user has shown that it works. */
  confirmedAt: Date | undefined
  lastUsedAt: Date | undefined
  /** The time step of the last code, or the signature counter. */
  lastCounter: number | undefined
  /** The guards of the account when the enrolment began; undefined for a factor that is confirmed at once. */
  begunUnder: string | undefined
}

export interface NewFactor extends Pick<Factor, 'id' | 'kind' | 'name' | 'data'> {
  userid: string
  begunUnder?: string
}

/** A recovery code that is not used yet. */
export interface RecoveryCode {
  id: string
  /** The sealed hash of the code. */
  hash: string
}

interface FactorRow {
  id: unknown
  kind: string
  name: string | null
  data: string
  created_at: Date
  confirmed_at: Date | null
  last_used_at: Date | null
  // pg returns a bigint as text.
  last_counter: number | string | null
  begun_under: string | null
}

/** The columns of a new factor. */
const COLUMNS: Columns<NewFactor & { createdAt: Date }> = {
  id: ({ id }, db) => db.toUuidValue(id),
  userid: ({ userid }, db) => db.toUuidValue(userid),
  kind: ({ kind }) => kind,
  name: ({ name }) => name ?? null,
  data: ({ data }) => data,
  created_at: ({ createdAt }) => createdAt,
  begun_under: ({ begunUnder }) => begunUnder ?? null,
}

const INSERT: Statement = { name: 'factor-insert', text: `insert into user_factor ${toInsert(COLUMNS)}` }
const FIND: Statement = {
  name: 'factor-of-user',
  text: `select ${namesOf(COLUMNS)}, confirmed_at, last_used_at, last_counter
    from user_factor where userid = $1 order by created_at, id`,
}
/** Counts among the first thousand rows: no index serves a count of all. */
const COUNT_USERS: Statement = {
  name: 'factor-count-users',
  text: `select count(distinct userid) as users from
    (select userid from user_factor where confirmed_at is not null limit 1000) as found`,
}
const CONFIRM: Statement = {
  name: 'factor-confirm',
  text: `update user_factor set confirmed_at = $3, last_used_at = $3, last_counter = $2
    where id = $1 and confirmed_at is null`,
}
const USE: Statement = {
  name: 'factor-use',
  text: `update user_factor set last_used_at = $3, last_counter = $2
    where id = $1 and confirmed_at is not null and (last_counter is null or last_counter < $2)`,
}
const USE_PASSKEY: Statement = {
  name: 'factor-use-passkey',
  text: 'update user_factor set last_used_at = $4, last_counter = $2, data = $3 where id = $1',
}
const RENAME: Statement = {
  name: 'factor-rename',
  text: 'update user_factor set name = $3 where id = $1 and userid = $2 and confirmed_at is not null',
}
const DELETE: Statement = {
  name: 'factor-delete',
  text: 'delete from user_factor where id = $1 and userid = $2 and confirmed_at is not null',
}
const DELETE_ALL: Statement = { name: 'factor-delete-all', text: 'delete from user_factor where userid = $1' }
const DELETE_PENDING: Statement = {
  name: 'factor-delete-pending',
  text: 'delete from user_factor where userid = $1 and confirmed_at is null',
}
const FIND_CODES: Statement = {
  name: 'recovery-code-of-user',
  text: 'select id, hash from recovery_code where userid = $1',
}
const DELETE_CODE: Statement = {
  name: 'recovery-code-delete',
  text: 'delete from recovery_code where id = $1',
}
const DELETE_CODES: Statement = {
  name: 'recovery-code-delete-all',
  text: 'delete from recovery_code where userid = $1',
}

/** The columns with texts that FACTOR_SECRET has sealed. A kind of factor without a secret stores a JSON object, and is skipped. */
export const SEALED = [
  sealedColumn('user_factor', 'data', " and data not like '{%'"),
  sealedColumn('recovery_code', 'hash', ''),
]

export type FactorRepository = ReturnType<typeof createFactorRepository>

/** Creates the repository of factors and recovery codes. Given a transaction, it works inside that transaction. */
export function createFactorRepository(db: Queryable) {
  return {
    async insert(factor: NewFactor, now: Date): Promise<void> {
      await db.execute(INSERT, valuesOf(COLUMNS, { ...factor, createdAt: now }, db))
    },

    /** Finds the factors of a user, also those that are not confirmed; the oldest first. */
    async find(userid: string): Promise<Factor[]> {
      const rows = await db.query<FactorRow>(FIND, [db.toUuidValue(userid)])
      return rows.map((row) => ({
        id: db.fromUuidValue(row.id),
        kind: row.kind,
        name: row.name ?? undefined,
        data: row.data,
        createdAt: row.created_at,
        confirmedAt: row.confirmed_at ?? undefined,
        lastUsedAt: row.last_used_at ?? undefined,
        lastCounter: row.last_counter === null ? undefined : Number(row.last_counter),
        begunUnder: row.begun_under ?? undefined,
      }))
    },

    /** Confirms a factor by its first use; true for the one call that does. */
    confirm: (id: string, counter: number, now: Date) => changeRow(db, CONFIRM, id, counter, now),

    /** Uses a factor; false unless `counter` is greater than that of every use before. */
    use: (id: string, counter: number, now: Date) => changeRow(db, USE, id, counter, now),

    /** Records the use of a passkey, inside a transaction that has locked the user and compared the counter. */
    usePasskey: (id: string, { counter, data }: { counter: number; data: string }, now: Date) =>
      changeRow(db, USE_PASSKEY, id, counter, data, now),

    /** Names a confirmed factor of the user; false when the user has no such factor. */
    rename: (id: string, userid: string, name: string) =>
      changeRow(db, RENAME, id, db.toUuidValue(userid), name),

    /** Deletes a confirmed factor of the user; false when the user has no such factor. */
    delete: (id: string, userid: string) => changeRow(db, DELETE, id, db.toUuidValue(userid)),

    /** Counts the users with a factor among the first thousand factors. */
    async countUsers(): Promise<number> {
      const [row] = await db.query<{ users: number | string }>(COUNT_USERS, [])
      return Number(row?.users ?? 0)
    },

    /** Ends the enrolments of factors that the user has not confirmed. */
    deletePending: (userid: string): Promise<number> => db.execute(DELETE_PENDING, [db.toUuidValue(userid)]),

    /** Deletes every factor and recovery code of the user. */
    async deleteAll(userid: string): Promise<void> {
      await db.execute(DELETE_ALL, [db.toUuidValue(userid)])
      await db.execute(DELETE_CODES, [db.toUuidValue(userid)])
    },

    /** Deletes the recovery codes of the user. */
    async deleteCodes(userid: string): Promise<void> {
      await db.execute(DELETE_CODES, [db.toUuidValue(userid)])
    },

    async findCodes(userid: string): Promise<RecoveryCode[]> {
      const rows = await db.query<{ id: unknown; hash: string }>(FIND_CODES, [db.toUuidValue(userid)])
      return rows.map(({ id, hash }) => ({ id: db.fromUuidValue(id), hash }))
    },

    /** Replaces the recovery codes of the user. */
    async replaceCodes(userid: string, codes: readonly RecoveryCode[], now: Date): Promise<void> {
      await db.execute(DELETE_CODES, [db.toUuidValue(userid)])
      const rows = codes.map(({ id, hash }) => [db.toUuidValue(id), db.toUuidValue(userid), hash, now])
      await insertRows(db, 'recovery_code', ['id', 'userid', 'hash', 'created_at'], rows)
    },

    /** Stores the authenticator apps and the recovery codes of an import. */
    async importAll(
      apps: readonly { userid: string; data: string; hashes: readonly string[] }[],
      now: Date,
    ): Promise<void> {
      const ids = (userid: string) => [db.toUuidValue(randomUUID()), db.toUuidValue(userid)]
      const factors = apps.map(({ userid, data }) => [...ids(userid), 'totp', data, now, now])
      const codes = apps.flatMap(({ userid, hashes }) => hashes.map((hash) => [...ids(userid), hash, now]))
      const columns = ['id', 'userid', 'kind', 'data', 'created_at', 'confirmed_at']
      await insertRows(db, 'user_factor', columns, factors)
      await insertRows(db, 'recovery_code', ['id', 'userid', 'hash', 'created_at'], codes)
    },

    /** Uses a recovery code; true for the one call that does. */
    useCode: (id: string) => changeRow(db, DELETE_CODE, id),
  }
}

/**
 * Stores in the property of the user which kinds of factors the table has; deletes the recovery codes when none is left.
 * Needs a transaction that has locked the user.
 */
export async function storeFactorKinds(
  factors: Pick<FactorRepository, 'find' | 'deleteCodes'>,
  users: Pick<UserRepository, 'setProperty'>,
  userid: string,
): Promise<void> {
  const confirmed = (await factors.find(userid)).filter(({ confirmedAt }) => confirmedAt)
  const kinds = [...new Set(confirmed.map(({ kind }) => kind))].toSorted()
  if (kinds.length === 0) await factors.deleteCodes(userid)
  await users.setProperty(userid, FACTORS_PROPERTY, kinds.join(' ') || null)
}
