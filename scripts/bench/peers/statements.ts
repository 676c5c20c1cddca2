/** The statements of Latchkey on PostgreSQL, as a peer sends them. */

const COLUMNS = `u.userid, u.name, u.email, u.username, u.password, u.role, u.created_at, u.updated_at, u.deleted_at,
    p.id as property_id, p.name as property_name, p.value as property_value`
const TABLES = 'users u left join users_property p on p.userid = u.userid'

const SELECT_STATUS = `select ${COLUMNS},
    (select revoked_from from token_revocation where id = $2) as replaced_from,
    (select expires_at from token_revocation where id = $2 and revoked_from = expires_at) as predecessor_until,
    (select revoked_from from token_revocation where id = $3) as session_revoked_from
  from ${TABLES} where u.userid = $1 order by p.id`

export const FIND_BY_EMAIL = `select ${COLUMNS} from ${TABLES} where replace(lower(u.email), 'ς', 'σ') = replace(lower($1), 'ς', 'σ') order by u.userid, p.id`
export const FIND_PROFILE = `select ${COLUMNS},
    (select c.email from email_change c where c.userid = u.userid and c.used_at is null and c.expires_at > now()
      order by c.created_at desc, c.id desc limit 1) as pending_email
  from ${TABLES} where u.userid = $1 order by p.id`
export const SET_NAME = 'update users set name = $2 where userid = $1'
export const REFRESH = `with refreshed as (
    insert into token_revocation (id, revoked_from, expires_at)
      select $2, now() + interval '1 h', now() + interval '1 h' from users where userid = $1 and deleted_at is null
      on conflict (id) do nothing)
  ${SELECT_STATUS}`
export const INSERT_RESET = `insert into password_reset (id, userid, email, token_hash, code_hash, created_at, expires_at)
  values ($1, $2, $3, $4, $5, now(), now() + interval '10 min')`

/** One row for each property of a user. */
export interface UserRow {
  userid: string
  name: string
  email: string
  username: string
  password: string
  role: string
  created_at: Date | null
  updated_at: Date | null
  property_name: string | null
  property_value: string | null
}

/** The profile of the user to whom the rows belong, as Latchkey answers it. */
export function toProfile(rows: readonly UserRow[]) {
  const [user] = rows
  if (!user) throw new Error('No such user')
  const { userid, name, email, username, role, created_at, updated_at } = user
  const named = rows.filter(({ property_name }) => property_name !== null)
  const properties = Object.fromEntries(named.map((row) => [row.property_name, row.property_value]))
  return { userid, name, email, username, role, language: 'en', created_at, updated_at, properties }
}

export const toTokenData = ({ userid, name, role }: UserRow) => ({ userid, name, role })
