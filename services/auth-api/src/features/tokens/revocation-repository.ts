import { hash } from 'node:crypto'
import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { toUsers, USER_COLUMNS, USER_TABLES, type UserRow } from '@latchkey/shared/users/user-repository.ts'
import { type Claims, sessionOf } from './claims.ts'

/** What the database knows about a token. */
export interface TokenStanding {
  user: User | undefined
  /** From then on the token is refused, because it was refreshed. */
  refreshedUntil: Date | undefined
  hasSessionEnded: boolean
}

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

export type RevocationRepository = ReturnType<typeof createRevocationRepository>

/** Tokens and sessions that ended before their time. */
export function createRevocationRepository(db: Queryable) {
  return {
    /** Reads the user of a token and what has ended the token, by one statement. */
    async findStanding(claims: Claims): Promise<TokenStanding> {
      const rows = await db.query<StandingRow>(FIND_STANDING, standingKeys(db, claims))
      return toStanding(db, rows)
    },

    /** Ends every token of a session; `expiresAt` is the end of the last of them. */
    async endSession(claims: Claims, now: Date, expiresAt: Date): Promise<void> {
      await db.execute(REVOKE, [sessionKey(claims), now, expiresAt])
    },
  }
}

const standingKeys = (db: Queryable, claims: Claims) => [
  db.toUuidValue(claims.sub),
  tokenKey(claims),
  sessionKey(claims),
]

function toStanding(db: Queryable, rows: readonly StandingRow[]): TokenStanding {
  const [row] = rows
  return {
    user: toUsers(db, rows)[0],
    refreshedUntil: row?.token_revoked_from ?? undefined,
    hasSessionEnded: Boolean(row?.session_revoked_from),
  }
}

// A token without a session has its `jti` as `sid`: the prefix keeps the two apart.
const tokenKey = ({ jti }: Claims): string => hash('sha256', `token ${jti}`)
const sessionKey = (claims: Claims): string => hash('sha256', `session ${sessionOf(claims).sid}`)
