import {
  type Columns,
  namesOf,
  toAssignments,
  toInsert,
  valuesOf,
} from '@latchkey/shared/database/columns.ts'
import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'
import type { Claims } from '../../tokens/claims.ts'
import type { RefreshForm } from '../../tokens/refresh-token.ts'
import { isNotRevoked, sessionIdOf } from '../../tokens/revocation-repository.ts'

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
  /** How and when the user has logged in, or confirmed the login. */
  amr: readonly string[] | undefined
  authTime: Date
  /** Undefined where the session ends with its access token, or has ended. */
  refresh: StoredRefresh | undefined
}

/** A session that has a refresh token. */
export type LastingSession = StoredSession & { refresh: StoredRefresh }

/** What the database has of the refresh token of a session. */
export interface StoredRefresh {
  /** The hash of the newest one. */
  hash: string
  salt: string
  form: RefreshForm
  /** The first use of what the newest refresh brought; undefined until then. */
  usedAt: Date | undefined
  /** The same of the one before it. */
  previousUsedAt: Date | undefined
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
  amr: ({ amr }) => amr?.join(' ') ?? null,
  authenticated_at: ({ authTime }) => authTime,
  refresh_hash: ({ refresh }) => refresh?.hash ?? null,
  refresh_salt: ({ refresh }) => refresh?.salt ?? null,
  refresh_form: ({ refresh }) => refresh?.form ?? null,
  used_at: ({ refresh }) => refresh?.usedAt ?? null,
  previous_used_at: ({ refresh }) => refresh?.previousUsedAt ?? null,
} satisfies Columns<StoredSession>

type SessionRow = Record<'id' | 'jti' | 'address' | 'agent', string> &
  Record<'created_at' | 'refreshed_at' | 'expires_at', Date> &
  Record<'amr' | 'refresh_hash' | 'refresh_salt', string | null> &
  Record<'authenticated_at' | 'used_at' | 'previous_used_at', Date | null> & {
    userid: unknown
    valid_from: string | number
    refresh_form: RefreshForm | null
  }

/** The columns that belong to the refresh token: only the exchange of one changes them. */
const REFRESH_COLUMNS = ['refresh_hash', 'refresh_salt', 'refresh_form', 'used_at', 'previous_used_at']

/** The new values of the columns that a further access token changes. A refresh token outlives it. */
const RENEWED = toAssignments(COLUMNS, ['id', 'userid', 'created_at', ...REFRESH_COLUMNS]).replace(
  /expires_at = (\$\d+)/,
  'expires_at = greatest(user_session.expires_at, $1)',
)

const STORE: Statement = {
  name: 'user_session-store',
  text: {
    postgres: `insert into user_session ${toInsert(COLUMNS)} on conflict (id) do update set ${RENEWED}`,
    mysql: `insert into user_session ${toInsert(COLUMNS)} on duplicate key update ${RENEWED}`,
  },
}

/** Exchanges a refresh token. A repeat finds the newest hash already, and leaves what is known of its use. */
const EXCHANGE: Statement = {
  name: 'user_session-exchange',
  // MySQL assigns in this order, and reads what it has assigned.
  text: `update user_session set
    previous_used_at = case when refresh_hash = $3 then previous_used_at else coalesce(used_at, $4) end,
    used_at = case when refresh_hash = $3 then used_at else null end,
    refresh_hash = $3, jti = $5, valid_from = $6, refreshed_at = $7, expires_at = $8, address = $9, agent = $10,
    amr = $11
  where id = $1 and refresh_hash = $2`,
}

const FIND_LASTING: Statement = {
  name: 'user_session-find-lasting',
  text: `select ${namesOf(COLUMNS)} from user_session where id = $1 and refresh_hash is not null`,
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
    (await db.query<SessionRow>(statement, [db.toUuidValue(userid), now, id])).map((row) => fromRow(row, db))

  return {
    /** Stores a session that begins, or the newest token of one that is refreshed. */
    async store(session: StoredSession): Promise<void> {
      await db.execute(STORE, valuesOf(COLUMNS, session, db))
    },

    /** Lists the sessions of a user, at most a hundred: first `currentId`, then the newest. */
    list: (userid: string, currentId: string, now: Date) => find(LIST, userid, currentId, now),

    find: async (userid: string, id: string, now: Date) => (await find(FIND, userid, id, now))[0],

    /** Finds a session that has a refresh token, whoever its user is and whether or not it has expired. */
    async findLasting(id: string): Promise<LastingSession | undefined> {
      const [row] = await db.query<SessionRow>(FIND_LASTING, [id])
      const session = row && fromRow(row, db)
      return session && hasRefresh(session) ? session : undefined
    },

    /**
     * Stores the next refresh token of `session`, and its newest access token, where that of `former` is still the newest one.
     * `now` is the use of the former one.
     */
    async exchange(session: LastingSession, former: string, now: Date): Promise<boolean> {
      const { id, refresh, jti, validFrom, refreshedAt, expiresAt, address, agent, amr = null } = session
      const origin = [address, agent, amr?.join(' ') ?? null]
      const token = [jti, validFrom, refreshedAt, expiresAt, ...origin]
      return (await db.execute(EXCHANGE, [id, former, refresh.hash, now, ...token])) > 0
    },
  }
}

/** Finds where the client of a session keeps its refresh token; undefined where the session has none. */
export type FindRefreshForm = (session: Pick<Claims, 'sid'>) => Promise<RefreshForm | undefined>

export const createFindRefreshForm =
  (db: Queryable): FindRefreshForm =>
  async (session) =>
    (await createSessionRepository(db).findLasting(sessionIdOf(session)))?.refresh.form

const hasRefresh = (session: StoredSession): session is LastingSession => session.refresh !== undefined

const fromRow = (row: SessionRow, db: Queryable): StoredSession => ({
  id: row.id,
  userid: db.fromUuidValue(row.userid),
  jti: row.jti,
  validFrom: Number(row.valid_from),
  createdAt: row.created_at,
  refreshedAt: row.refreshed_at,
  expiresAt: row.expires_at,
  address: row.address,
  agent: row.agent,
  amr: row.amr?.split(' '),
  authTime: row.authenticated_at ?? row.created_at,
  refresh:
    row.refresh_hash !== null && row.refresh_salt !== null && row.refresh_form !== null
      ? {
          hash: row.refresh_hash,
          salt: row.refresh_salt,
          form: row.refresh_form,
          usedAt: row.used_at ?? undefined,
          previousUsedAt: row.previous_used_at ?? undefined,
        }
      : undefined,
})
