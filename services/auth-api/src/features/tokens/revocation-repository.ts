import { hash } from 'node:crypto'
import type { Queryable, SqlValue, Statement } from '@latchkey/shared/database/database.ts'
import { EXEMPT_TOKEN_PROPERTY, type User, VALID_FROM_PROPERTY } from '@latchkey/shared/users/user.ts'
import { toUsers, USER_COLUMNS, USER_TABLES, type UserRow } from '@latchkey/shared/users/user-repository.ts'
import { type Claims, sessionOf } from './claims.ts'

/** What the database knows about a token. */
export interface TokenStanding {
  /** Undefined for one that does not exist; the rest is then unknown. */
  user: User | undefined
  /** From then on the token is refused, because it was refreshed. */
  refreshedUntil: Date | undefined
  hasSessionEnded: boolean
}

/** What decides whether a token is valid. */
export interface BriefStanding extends Omit<TokenStanding, 'user'> {
  user: BriefUser | undefined
}

/** Of the properties it may have the valid-from mark alone. */
export type BriefUser = Pick<User, 'userid' | 'role' | 'deletedAt' | 'properties'>

interface StandingRow extends UserRow {
  token_revoked_from: Date | null
  session_revoked_from: Date | null
}

const REVOKE: Statement = {
  name: 'token-revoke',
  text: ({ keepExisting }) =>
    `insert into token_revocation (id, revoked_from, expires_at) values ($1, $2, $3) ${keepExisting('id')}`,
}

const SELECT_STANDING = `select ${USER_COLUMNS},
    (select revoked_from from token_revocation where id = $2) as token_revoked_from,
    (select revoked_from from token_revocation where id = $3) as session_revoked_from
  from ${USER_TABLES} where u.userid = $1 order by p.id`

const FIND_STANDING: Statement = { name: 'token-standing', text: SELECT_STANDING }

const parametersOf = (length: number): string[] => Array.from({ length }, (_, index) => `$${index + 1}`)

/** A row is a fifth of the whole user's: reading it is most of the work of the service. */
const findUsers = (length: number): Statement => ({
  name: `token-users-${length}`,
  text: `select u.userid, u.role, u.deleted_at, p.name as property_name, p.value as property_value
    from users u left join users_property p
      on p.userid = u.userid and p.name in ('${VALID_FROM_PROPERTY}', '${EXEMPT_TOKEN_PROPERTY}')
    where u.userid in (${parametersOf(length).join(', ')}) order by u.userid, p.id`,
})

const REVOCATIONS = { name: 'token_revocation', columns: 'id, revoked_from', key: 'id', keyType: 'char(64)' }

/** Each token has two keys. */
const findRevocations = (length: number): Statement => ({
  name: `token-revocations-${length}`,
  text: ({ selectEach }) => selectEach(REVOCATIONS, parametersOf(2 * length)),
})

/** The statements for each length of list; a shorter list repeats its last token. Each length is a prepared statement. */
const LISTS = [4, 16, 64].map((length) => ({
  length,
  users: findUsers(length),
  revocations: findRevocations(length),
}))

type BriefUserRow = Pick<UserRow, 'userid' | 'role' | 'deleted_at' | 'property_name' | 'property_value'>

interface RevocationRow {
  id: string
  revoked_from: Date
}

const END_REFRESHED = `insert into token_revocation (id, revoked_from, expires_at)
    select $2, $4, $5 from users where userid = $1 and deleted_at is null`

const END_REFRESHED_ALONE: Statement = {
  name: 'token-end-refreshed',
  text: ({ keepExisting }) => `${END_REFRESHED} ${keepExisting('id')}`,
}

/** The query does not see what the insert of the same statement adds. */
const END_AND_FIND_STANDING: Statement = {
  name: 'token-refresh',
  text: ({ keepExisting }) => `with refreshed as (${END_REFRESHED} ${keepExisting('id')}) ${SELECT_STANDING}`,
}

export type RevocationRepository = ReturnType<typeof createRevocationRepository>

/** Tokens and sessions that ended before their time. */
export function createRevocationRepository(db: Queryable) {
  async function findStanding(claims: Claims): Promise<TokenStanding> {
    const rows = await db.query<StandingRow>(FIND_STANDING, standingKeys(db, claims))
    return toStanding(db, rows)
  }

  return {
    /** Reads the user of a token and what has ended the token, by one statement. */
    findStanding,

    /** Reads the standings of up to 64 tokens, in the same order, by as many statements as for two. */
    async findStandings(list: readonly Claims[]): Promise<BriefStanding[]> {
      const [only] = list
      if (only && list.length === 1) return [await findStanding(only)]
      const keys = list.map(keysOf)
      const last = keys.at(-1)
      if (!last) return []
      const found = LISTS.find(({ length }) => length >= list.length)
      if (!found) throw new RangeError(`${list.length} tokens are too many for one statement`)
      const padded = [...keys, ...Array<TokenKeys>(found.length - keys.length).fill(last)]
      const [users, revocations] = await Promise.all([
        db.query<BriefUserRow>(
          found.users,
          padded.map(({ userid }) => db.toUuidValue(userid)),
        ),
        db.query<RevocationRow>(
          found.revocations,
          padded.flatMap(({ token, session }) => [token, session]),
        ),
      ])
      const userOf = toBriefUsers(db, users)
      const revokedFrom = new Map(revocations.map((row) => [row.id, row.revoked_from]))
      return keys.map(({ userid, token, session }) =>
        standingOf(userOf.get(userid), revokedFrom.get(token), revokedFrom.get(session)),
      )
    },

    /**
     * Ends a token that is being refreshed, from `until` on, unless that has been done already or its user is deleted.
     * Reads its standing too, by the same statement where the database can do that.
     */
    async endRefreshed(claims: Claims, until: Date): Promise<TokenStanding> {
      const keys = standingKeys(db, claims)
      const end = [until, new Date(claims.exp * 1000)]
      if (db.dialect.sql.hasModifyingWith)
        return toStanding(db, await db.query<StandingRow>(END_AND_FIND_STANDING, [...keys, ...end]))
      await db.execute(END_REFRESHED_ALONE, [...keys, ...end])
      return toStanding(db, await db.query<StandingRow>(FIND_STANDING, keys))
    },

    /** Ends every token of a session; `expiresAt` is the end of the last of them. */
    async endSession(claims: Claims, now: Date, expiresAt: Date): Promise<void> {
      await db.execute(REVOKE, [sessionKey(claims), now, expiresAt])
    },
  }
}

interface TokenKeys {
  userid: string
  token: string
  session: string
}

const keysOf = (claims: Claims): TokenKeys => ({
  userid: claims.sub.toLowerCase(),
  token: tokenKey(claims),
  session: sessionKey(claims),
})

function standingKeys(db: Queryable, claims: Claims): SqlValue[] {
  const { userid, token, session } = keysOf(claims)
  return [db.toUuidValue(userid), token, session]
}

/** `rows` has one row for each property, ordered by user and property. */
function toBriefUsers(db: Queryable, rows: readonly BriefUserRow[]): Map<string, BriefUser> {
  const users = new Map<string, BriefUser>()
  for (const { userid: value, role, deleted_at, property_name: name, property_value } of rows) {
    const userid = db.fromUuidValue(value)
    const properties = users.get(userid)?.properties ?? []
    const added = name === null ? properties : [...properties, { name, value: property_value }]
    users.set(userid, { userid, role, deletedAt: deleted_at, properties: added })
  }
  return users
}

function toStanding(db: Queryable, rows: readonly StandingRow[]): TokenStanding {
  const [row] = rows
  return standingOf(toUsers(db, rows)[0], row?.token_revoked_from, row?.session_revoked_from)
}

/** Without a user nothing else is known: the statement for one token then has no row. */
const standingOf = <Found extends object>(
  user: Found | undefined,
  tokenRevokedFrom: Date | null | undefined,
  sessionRevokedFrom: Date | null | undefined,
) => ({
  user,
  refreshedUntil: (user && tokenRevokedFrom) ?? undefined,
  hasSessionEnded: Boolean(user && sessionRevokedFrom),
})

// A token without a session has its `jti` as `sid`: the prefix keeps the two apart.
const tokenKey = ({ jti }: Claims): string => hash('sha256', `token ${jti}`)
const sessionKey = (claims: Claims): string => hash('sha256', `session ${sessionOf(claims).sid}`)
