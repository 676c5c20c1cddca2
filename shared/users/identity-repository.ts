import { changeRow } from '../database/change-row.ts'
import { type Columns, namesOf, toInsert, valuesOf } from '../database/columns.ts'
import { type Queryable, type Statement, violatedIndex } from '../database/database.ts'
import { insertRows } from '../database/insert-rows.ts'
import { AppError } from '../errors/app-error.ts'
import { createFactorRepository } from './factor-repository.ts'
import { hasPassword, type User } from './user.ts'

/** The account of a user at an identity provider. */
export interface UserIdentity {
  id: string
  userid: string
  /** The name of the provider in OIDC_PROVIDERS. */
  provider: string
  /** The id that the provider gives to the person. */
  subject: string
  /** The address that the provider said last. */
  email: string | undefined
  createdAt: Date
  lastUsedAt: Date | undefined
}

interface IdentityRow {
  id: unknown
  userid: unknown
  provider: string
  subject: string
  email: string | null
  created_at: Date
  last_used_at: Date | null
}

const COLUMNS: Columns<UserIdentity, keyof IdentityRow> = {
  id: ({ id }, db) => db.toUuidValue(id),
  userid: ({ userid }, db) => db.toUuidValue(userid),
  provider: ({ provider }) => provider,
  subject: ({ subject }) => subject,
  email: ({ email }) => email ?? null,
  created_at: ({ createdAt }) => createdAt,
  last_used_at: ({ lastUsedAt }) => lastUsedAt ?? null,
}

const SELECT = `select ${namesOf(COLUMNS)} from user_identity`

const INSERT: Statement = { name: 'identity-insert', text: `insert into user_identity ${toInsert(COLUMNS)}` }
const FIND: Statement = { name: 'identity-find', text: `${SELECT} where provider = $1 and subject = $2` }
const LIST: Statement = {
  name: 'identity-of-user',
  text: `${SELECT} where userid = $1 order by created_at, id`,
}
const USE: Statement = {
  name: 'identity-use',
  text: 'update user_identity set last_used_at = $2, email = $3 where id = $1',
}
const DELETE: Statement = {
  name: 'identity-delete',
  text: 'delete from user_identity where id = $1 and userid = $2',
}
const DELETE_ALL: Statement = {
  name: 'identity-delete-all',
  text: 'delete from user_identity where userid = $1',
}

/** Creates the repository of the accounts at identity providers. Given a transaction, it works inside that transaction. */
export function createIdentityRepository(db: Queryable) {
  const toIdentity = (row: IdentityRow): UserIdentity => ({
    id: db.fromUuidValue(row.id),
    userid: db.fromUuidValue(row.userid),
    provider: row.provider,
    subject: row.subject,
    email: row.email ?? undefined,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
  })

  return {
    /** Stores an identity and returns its id; throws `identity_taken`, after which its transaction has failed. */
    async insert(
      identity: Pick<UserIdentity, 'userid' | 'provider' | 'subject' | 'email'>,
      now: Date,
    ): Promise<string> {
      const row = { ...identity, id: crypto.randomUUID(), createdAt: now, lastUsedAt: undefined }
      try {
        await db.execute(INSERT, valuesOf(COLUMNS, row, db))
      } catch (error) {
        if (violatedIndex(db, error) === undefined) throw error
        throw new AppError('identity_taken', 'This account of the provider belongs to a user already', {
          cause: error,
        })
      }
      return row.id
    },

    /** Stores the identities of an import; throws the driver's error for one that is taken. */
    async importAll(
      identities: readonly Pick<UserIdentity, 'userid' | 'provider' | 'subject'>[],
      now: Date,
    ): Promise<void> {
      const rows = identities.map((identity) => ({
        ...{ ...identity, id: crypto.randomUUID(), email: undefined, createdAt: now, lastUsedAt: undefined },
      }))
      const values = rows.map((row) => valuesOf(COLUMNS, row, db))
      await insertRows(db, 'user_identity', Object.keys(COLUMNS), values)
    },

    /** Finds the identity of a person at a provider. */
    async find(provider: string, subject: string): Promise<UserIdentity | undefined> {
      const [row] = await db.query<IdentityRow>(FIND, [provider, subject])
      return row && toIdentity(row)
    },

    /** Lists the identities of a user, the oldest first. */
    async list(userid: string): Promise<UserIdentity[]> {
      return (await db.query<IdentityRow>(LIST, [db.toUuidValue(userid)])).map(toIdentity)
    },

    /** Records a login by an identity. */
    recordUse: (id: string, email: string | undefined, now: Date) =>
      changeRow(db, USE, id, now, email ?? null),

    /** Deletes an identity of the user; false when the user has no such identity. */
    delete: (id: string, userid: string) => changeRow(db, DELETE, id, db.toUuidValue(userid)),

    /** Deletes every identity of the user. */
    deleteAll: (userid: string): Promise<number> => db.execute(DELETE_ALL, [db.toUuidValue(userid)]),
  }
}

/**
 * Throws `last_way_in` where a user could log in no more without the identity or the factor `removed`: nothing else is left of
 * a password, an identity and a passkey. Needs a transaction that has locked the user.
 */
export async function requireOtherWayIn(db: Queryable, user: User, removed: string): Promise<void> {
  if (hasPassword(user)) return
  const [identities, factors] = await Promise.all([
    createIdentityRepository(db).list(user.userid),
    createFactorRepository(db).find(user.userid),
  ])
  const passkeys = factors.filter(({ kind, confirmedAt }) => kind === 'passkey' && confirmedAt)
  if ([...identities, ...passkeys].some(({ id }) => id !== removed)) return
  throw new AppError('last_way_in', 'You could not log in any more')
}
