import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'

/** A login and the refreshes after it. */
export interface UserSession {
  /** The id that `token_revocation` has for the session. It is not in the tokens, and gives no access. */
  id: string
  userid: string
  /** `jti` and `valid_from` of the newest token. */
  jti: string
  validFrom: number
  createdAt: Date
  /** When its newest token was issued, and when that expires. */
  refreshedAt: Date
  expiresAt: Date
  /** Where its newest token was requested. */
  address: string
  agent: string
}

type SessionRow = Record<'id' | 'jti' | 'address' | 'agent', string> &
  Record<'created_at' | 'refreshed_at' | 'expires_at', Date> & { valid_from: string | number }

const STORE: Statement = {
  name: 'user_session-store',
  text: {
    postgres: `insert into user_session
        (id, userid, created_at, jti, valid_from, refreshed_at, expires_at, address, agent)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      on conflict (id) do update set
        jti = $4, valid_from = $5, refreshed_at = $6, expires_at = $7, address = $8, agent = $9`,
    mysql: `insert into user_session
        (id, userid, created_at, jti, valid_from, refreshed_at, expires_at, address, agent)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      on duplicate key update
        jti = $4, valid_from = $5, refreshed_at = $6, expires_at = $7, address = $8, agent = $9`,
  },
}

// The subquery reads one row by its key; a join could read the whole table of revocations.
const SELECT_OPEN = `select id, jti, valid_from, created_at, refreshed_at, expires_at, address, agent
  from user_session s where userid = $1 and expires_at > $2
    and (select r.id from token_revocation r where r.id = s.id) is null`

const LIST: Statement = {
  name: 'user_session-list',
  text: `${SELECT_OPEN} order by case when id = $3 then 0 else 1 end, refreshed_at desc limit 100`,
}
const FIND: Statement = { name: 'user_session-find', text: `${SELECT_OPEN} and id = $3` }

export type SessionRepository = ReturnType<typeof createSessionRepository>

/** Creates the repository of the sessions that no logout has ended. The user's valid-from time may have ended more. */
export function createSessionRepository(db: Queryable) {
  const find = async (statement: Statement, userid: string, id: string, now: Date): Promise<UserSession[]> =>
    (await db.query<SessionRow>(statement, [db.toUuidValue(userid), now, id])).map((row) => ({
      id: row.id,
      userid,
      jti: row.jti,
      validFrom: Number(row.valid_from),
      createdAt: row.created_at,
      refreshedAt: row.refreshed_at,
      expiresAt: row.expires_at,
      address: row.address,
      agent: row.agent,
    }))

  return {
    /** Stores a session that begins, or the newest token of one that is refreshed. */
    async store(session: UserSession): Promise<void> {
      const { id, userid, createdAt, jti, validFrom, refreshedAt, expiresAt, address, agent } = session
      const user = db.toUuidValue(userid)
      await db.execute(STORE, [id, user, createdAt, jti, validFrom, refreshedAt, expiresAt, address, agent])
    },

    /** The sessions of a user, at most a hundred: first `currentId`, then the newest. */
    list: (userid: string, currentId: string, now: Date) => find(LIST, userid, currentId, now),

    find: async (userid: string, id: string, now: Date) => (await find(FIND, userid, id, now))[0],
  }
}
