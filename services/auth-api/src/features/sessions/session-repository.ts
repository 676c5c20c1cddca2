import {
  type Columns,
  namesOf,
  toAssignments,
  toInsert,
  valuesOf,
} from '@latchkey/shared/database/columns.ts'
import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'
import { isNotRevoked } from '../../tokens/revocation-repository.ts'

/** A login session as it is stored: a login and the refreshes after it. */
export interface StoredSession {
  /** The id that `token_revocation` has for the session. It is not in the tokens, and gives no access. */
  id: string
  userid: string
  /** `jti` and `valid_from` of the newest token. */
  jti: string
  validFrom: number
  createdAt: Date
  /** The times at which its newest token was issued, and expires. */
  refreshedAt: Date
  expiresAt: Date
  /** The origin of the request for its newest token. */
  address: string
  agent: string
}

const COLUMNS = {
  id: ({ id }) => id,
  userid: ({ userid }, db) => db.toUuidValue(userid),
  created_at: ({ createdAt }) => createdAt,
  jti: ({ jti }) => jti,
  valid_from: ({ validFrom }) => validFrom,
  refreshed_at: ({ refreshedAt }) => refreshedAt,
  expires_at: ({ expiresAt }) => expiresAt,
  address: ({ address }) => address,
  agent: ({ agent }) => agent,
} satisfies Columns<StoredSession>

type SessionRow = Record<'id' | 'jti' | 'address' | 'agent', string> &
  Record<'created_at' | 'refreshed_at' | 'expires_at', Date> & { valid_from: string | number }

/** The new values of the columns that a refresh changes. */
const RENEWED = toAssignments(COLUMNS, ['id', 'userid', 'created_at'])

const STORE: Statement = {
  name: 'user_session-store',
  text: {
    postgres: `insert into user_session ${toInsert(COLUMNS)} on conflict (id) do update set ${RENEWED}`,
    mysql: `insert into user_session ${toInsert(COLUMNS)} on duplicate key update ${RENEWED}`,
  },
}

const SELECT_OPEN = `select ${namesOf(COLUMNS)}
  from user_session s where userid = $1 and expires_at > $2 and ${isNotRevoked('s.id')}`

const LIST: Statement = {
  name: 'user_session-list',
  text: `${SELECT_OPEN} order by case when id = $3 then 0 else 1 end, refreshed_at desc limit 100`,
}
const FIND: Statement = { name: 'user_session-find', text: `${SELECT_OPEN} and id = $3` }

/** Creates the repository of the sessions that no logout has ended. The user's valid-from time may have ended more. */
export function createSessionRepository(db: Queryable) {
  const find = async (
    statement: Statement,
    userid: string,
    id: string,
    now: Date,
  ): Promise<StoredSession[]> =>
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
    async store(session: StoredSession): Promise<void> {
      await db.execute(STORE, valuesOf(COLUMNS, session, db))
    },

    /** Lists the sessions of a user, at most a hundred: first `currentId`, then the newest. */
    list: (userid: string, currentId: string, now: Date) => find(LIST, userid, currentId, now),

    find: async (userid: string, id: string, now: Date) => (await find(FIND, userid, id, now))[0],
  }
}
