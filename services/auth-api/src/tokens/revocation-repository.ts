import { hash } from 'node:crypto'
import {
  type Queryable,
  type SqlValue,
  type Statement,
  violatedIndex,
} from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import {
  PRESENT_USER,
  toUsers,
  USER_COLUMNS,
  USER_TABLES,
  type UserRow,
} from '@latchkey/shared/users/user-repository.ts'
import { type Claims, successorOf } from './claims.ts'

/** The state of a token in the database. */
export interface TokenStatus {
  /** Undefined for a user that does not exist; the other members are then unknown. */
  user: User | undefined
  /** The token was refreshed, and is refused from this moment on: at its expiry, unless its successor is used before. */
  replacedFrom: Date | undefined
  /** The time at which the token before it expires; undefined where there is none, or where the use of this one has been recorded. */
  predecessorUntil: Date | undefined
  isSessionRevoked: boolean
  /** The hash of the refresh token of the session, where no use of what came with it has been recorded. */
  unusedRefreshHash: string | undefined
}

/** The claims by which the database knows a token. */
export type TokenKeys = Pick<Claims, 'sub' | 'jti' | 'sid'>

interface StatusRow extends UserRow {
  replaced_from: Date | null
  predecessor_until: Date | null
  session_revoked_from: Date | null
  unused_refresh_hash: string | null
}

const COLUMNS = 'id, revoked_from, expires_at'

const FIND_STATUS: Statement = {
  name: 'token-status',
  text: `select ${USER_COLUMNS},
    (select revoked_from from token_revocation where id = $2) as replaced_from,
    (select expires_at from token_revocation where id = $3 and revoked_from = expires_at) as predecessor_until,
    (select revoked_from from token_revocation where id = $4) as session_revoked_from,
    (select refresh_hash from user_session where id = $4 and used_at is null) as unused_refresh_hash
  from ${USER_TABLES} where u.userid = $1 order by p.id`,
}

/** A condition of another statement: no logout has ended the session of this id, an SQL expression. */
export const isNotRevoked = (id: string): string =>
  // The subquery reads one row by its key; a join could read the whole table.
  `(select r.id from token_revocation r where r.id = ${id}) is null`

// Both keep a row that exists. On MySQL they are not `insert ignore`, which ignores other faults too.
const STORE_REFRESH: Statement = {
  name: 'token-refresh',
  text: {
    postgres: `insert into token_revocation (${COLUMNS})
      select $2, $3, $4 from ${PRESENT_USER}
      on conflict (id) do nothing`,
    mysql: `insert into token_revocation (${COLUMNS})
      select $2, $3, $4 from ${PRESENT_USER}
      on duplicate key update id = id`,
  },
}

const END_PREDECESSOR: Statement = {
  name: 'token-end-predecessor',
  text: 'update token_revocation set revoked_from = $2 where id = $1 and revoked_from > $2',
}

const REVOKE_SESSION: Statement = {
  name: 'session-end',
  text: {
    postgres: `insert into token_revocation (${COLUMNS}) values ($1, $2, $3)
      on conflict (id) do nothing`,
    mysql: `insert into token_revocation (${COLUMNS}) values ($1, $2, $3)
      on duplicate key update id = id`,
  },
}

/** What a refresh token can be exchanged for ends with the session, and not only for as long as the row above is kept. */
const END_REFRESH: Statement = {
  name: 'session-end-refresh',
  text: `update user_session set refresh_hash = null, refresh_salt = null, expires_at = $2
    where id = $1 and refresh_hash is not null`,
}

const RECORD_REFRESH_USE: Statement = {
  name: 'session-record-use',
  text: 'update user_session set used_at = $3 where id = $1 and refresh_hash = $2 and used_at is null',
}

const USE_ONCE: Statement = {
  name: 'challenge-use',
  // A duplicate is an error, and not ignored: MySQL would count it as a row.
  text: `insert into token_revocation (${COLUMNS}) values ($1, $2, $3)`,
}

export type RevocationRepository = ReturnType<typeof createRevocationRepository>

/** Creates the repository of the tokens and sessions that ended before they expired, and of the challenges that were used. */
export function createRevocationRepository(db: Queryable) {
  /** Reads the user of a token and what has ended the token. */
  async function findStatus(claims: TokenKeys): Promise<TokenStatus> {
    const { jti } = claims
    const keys = [userKey(db, claims), pairKey(successorOf(jti)), pairKey(jti), sessionIdOf(claims)]
    const rows = await db.query<StatusRow>(FIND_STATUS, keys)
    const [user] = toUsers(db, rows)
    const [row] = rows
    return {
      user,
      replacedFrom: row?.replaced_from ?? undefined,
      predecessorUntil: row?.predecessor_until ?? undefined,
      isSessionRevoked: Boolean(row?.session_revoked_from),
      unusedRefreshHash: row?.unused_refresh_hash ?? undefined,
    }
  }

  return {
    findStatus,

    /**
     * Stores that a token has a successor, unless that has been done already or its user is deleted. The token ends at
     * `expiresAt`, or by `endPredecessor` of its successor. Resolves with its status.
     */
    async storeRefresh(claims: Claims, expiresAt: Date): Promise<TokenStatus> {
      const successor = pairKey(successorOf(claims.jti))
      const [status] = await Promise.all([
        findStatus(claims),
        db.execute(STORE_REFRESH, [userKey(db, claims), successor, expiresAt, expiresAt]),
      ])
      return status
    },

    /** Ends the token that was refreshed to that of `claims`, from `end` on, unless it has an earlier end. */
    async endPredecessor({ jti }: Claims, end: Date): Promise<void> {
      await db.execute(END_PREDECESSOR, [pairKey(jti), end])
    },

    /** Records that a token which came with the refresh token of this hash was used, unless that has been done already. */
    async recordRefreshUse(id: string, refreshHash: string, now: Date): Promise<void> {
      await db.execute(RECORD_REFRESH_USE, [id, refreshHash, now])
    },

    /** Ends every token of a session; `expiresAt` is the end of the last of its access tokens. */
    async revokeSession(id: string, now: Date, expiresAt: Date): Promise<void> {
      await Promise.all([
        db.execute(REVOKE_SESSION, [id, now, expiresAt]),
        db.execute(END_REFRESH, [id, now]),
      ])
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

const userKey = (db: Queryable, { sub }: TokenKeys): SqlValue => db.toUuidValue(sub.toLowerCase())
// The prefixes keep the ids of pairs, sessions and challenges apart: all are in one column. A pair is the successor of a token.
const pairKey = (jti: string): string => hash('sha256', `pair ${jti}`)
const challengeKey = (jti: string): string => hash('sha256', `challenge ${jti}`)
/** The id of a token's session in the database. */
export const sessionIdOf = ({ sid }: Pick<Claims, 'sid'>): string => hash('sha256', `session ${sid}`)
