import { hash } from 'node:crypto'
import {
  type Queryable,
  type SqlValue,
  type Statement,
  violatedIndex,
} from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { toUsers, USER_COLUMNS, USER_TABLES, type UserRow } from '@latchkey/shared/users/user-repository.ts'
import type { Claims } from './claims.ts'

/** What the database knows about a token. */
export interface TokenStatus {
  /** Undefined for a user that does not exist; the other members are then unknown. */
  user: User | undefined
  /** The token was refreshed, and is refused from this moment on. */
  refreshedUntil: Date | undefined
  isSessionRevoked: boolean
}

interface StatusRow extends UserRow {
  token_revoked_from: Date | null
  session_revoked_from: Date | null
}

const FIND_STATUS: Statement = {
  name: 'token-status',
  text: `select ${USER_COLUMNS},
    (select revoked_from from token_revocation where id = $2) as token_revoked_from,
    (select revoked_from from token_revocation where id = $3) as session_revoked_from
  from ${USER_TABLES} where u.userid = $1 order by p.id`,
}

// Both keep a row that exists. On MySQL they are not `insert ignore`, which ignores other faults too.
const REVOKE_REFRESHED: Statement = {
  name: 'token-end-refreshed',
  text: {
    postgres: `insert into token_revocation (id, revoked_from, expires_at)
      select $2, $3, $4 from users where userid = $1 and deleted_at is null
      on conflict (id) do nothing`,
    mysql: `insert into token_revocation (id, revoked_from, expires_at)
      select $2, $3, $4 from users where userid = $1 and deleted_at is null
      on duplicate key update id = id`,
  },
}

const REVOKE_SESSION: Statement = {
  name: 'session-end',
  text: {
    postgres: `insert into token_revocation (id, revoked_from, expires_at) values ($1, $2, $3)
      on conflict (id) do nothing`,
    mysql: `insert into token_revocation (id, revoked_from, expires_at) values ($1, $2, $3)
      on duplicate key update id = id`,
  },
}

const USE_ONCE: Statement = {
  name: 'challenge-use',
  // A duplicate is an error, and not ignored: MySQL would count it as a row.
  text: 'insert into token_revocation (id, revoked_from, expires_at) values ($1, $2, $3)',
}

export type RevocationRepository = ReturnType<typeof createRevocationRepository>

/** Creates the repository of the tokens and sessions that ended before they expired, and of the challenges that were used. */
export function createRevocationRepository(db: Queryable) {
  /** Reads the user of a token and what has ended the token. */
  async function findStatus(claims: Claims): Promise<TokenStatus> {
    const keys: SqlValue[] = [userKey(db, claims), tokenKey(claims), sessionIdOf(claims)]
    const rows = await db.query<StatusRow>(FIND_STATUS, keys)
    const [user] = toUsers(db, rows)
    const [row] = rows
    return {
      user,
      refreshedUntil: row?.token_revoked_from ?? undefined,
      isSessionRevoked: Boolean(row?.session_revoked_from),
    }
  }

  return {
    findStatus,

    /**
     * Ends a token that is being refreshed, from `until` on, unless that has been done already or its user is deleted.
     * Resolves with its status.
     */
    async revokeRefreshed(claims: Claims, until: Date): Promise<TokenStatus> {
      const expiresAt = new Date(claims.exp * 1000)
      const [status] = await Promise.all([
        findStatus(claims),
        db.execute(REVOKE_REFRESHED, [userKey(db, claims), tokenKey(claims), until, expiresAt]),
      ])
      return status
    },

    /** Ends every token of a session; `expiresAt` is the end of the last of them. */
    async revokeSession(id: string, now: Date, expiresAt: Date): Promise<void> {
      await db.execute(REVOKE_SESSION, [id, now, expiresAt])
    },

    /** Records the use of a challenge; true for the one call that does. After false, its transaction has failed. */
    async useOnce(jti: string, now: Date, expiresAt: Date): Promise<boolean> {
      try {
        await db.execute(USE_ONCE, [challengeKey(jti), now, expiresAt])
        return true
      } catch (error) {
        if (violatedIndex(db, error) === undefined) throw error
        return false
      }
    },
  }
}

const userKey = (db: Queryable, { sub }: Claims): SqlValue => db.toUuidValue(sub.toLowerCase())
// The prefixes keep the ids of tokens, sessions and challenges apart: all are in one column.
const tokenKey = ({ jti }: Claims): string => hash('sha256', `token ${jti}`)
const challengeKey = (jti: string): string => hash('sha256', `challenge ${jti}`)
/** The id of a token's session in the database. */
export const sessionIdOf = ({ sid }: Pick<Claims, 'sid'>): string => hash('sha256', `session ${sid}`)
