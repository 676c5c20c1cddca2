import type { Queryable, Statement } from '../database/database.ts'

/** The users whose stored passwords or e-mails have one form. */
export interface AccountCount {
  form: string
  users: number
}

const FIND_COLUMNS: Statement = {
  name: 'count-accounts-columns',
  text: {
    postgres: `select column_name from information_schema.columns
      where table_schema = current_schema() and table_name = 'users' and column_name in ('password', 'email')`,
    mysql: `select column_name from information_schema.columns
      where table_schema = database() and table_name = 'users' and column_name in ('password', 'email')`,
  },
}

const COUNT: Statement = {
  name: 'count-accounts',
  text: `select form, count(*) as users from (
      select case
        when password is null or password = '' then 'no password'
        when password like $1 then 'argon2id'
        when password like $2 then 'argon2i'
        when password like $3 then 'bcrypt'
        when char_length(password) = 40 and password not like $4 then 'sha1'
        when char_length(password) = 32 and password not like $4 then 'MD5, which no login verifies'
        else 'another hash, which no login verifies' end as form
      from users
    ) as forms group by form
    union all select 'no e-mail', count(*) from users where email is null or email = '' having count(*) > 0
    order by 1`,
}
const PATTERNS = ['$argon2id$%', '$argon2i$%', '$2_$%', '%$%']

/** Counts users by the kind of their hash, and those without an e-mail, also in a table of another program. */
export async function countAccounts(db: Queryable): Promise<AccountCount[]> {
  if ((await db.query(FIND_COLUMNS)).length < 2) return []
  const rows = await db.query<{ form: string; users: unknown }>(COUNT, PATTERNS)
  return rows.map(({ form, users }) => ({ form, users: Number(users) }))
}
