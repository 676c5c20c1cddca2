import type { Database } from '@latchkey/shared/database/database.ts'
import { storeUser } from '../run/store-user.ts'
import { PASSWORD, type Target } from '../run/target.ts'

/** The kinds of e-mail. Requests about all kinds of a row must take the same time. */
export type Kind = 'unknown' | 'known' | 'deleted'

export interface TimedRequest {
  method: 'POST' | 'PUT'
  path: string
  body: object
  authorization?: string | undefined
}

export interface Row {
  name: string
  /** `unknown` is the one that the others are compared with. */
  kinds: readonly Kind[]
  /** The status of every response. */
  status: number
  /** Requests in flight at the same time; more than one where a request mostly waits. */
  lanes: number
  /** Brings the accounts into the state of the row. `send` resolves with the JSON of an answer. */
  prepare?(emails: Emails, send: Send): Promise<void>
  request(email: string): TimedRequest
}

export type Emails = Readonly<Record<Kind, readonly string[]>>
export type Send = (request: TimedRequest) => Promise<{ token?: string }>

const WRONG_CODE = '000000'
const ALL_KINDS = ['unknown', 'known', 'deleted'] as const
/** Requests at a time while a row is prepared. */
const PREPARED_TOGETHER = 64

/** The states in which a request finds the reset of an e-mail, as SQL that makes them of an open reset. */
const RESET_STATES: Readonly<Record<string, string>> = {
  'no reset': 'delete from password_reset',
  'open reset': 'vacuum analyze password_reset',
  'expired reset': "update password_reset set expires_at = now() - interval '1 s'",
  'reset out of attempts': 'update password_reset set attempts = 1000',
}

/** Every route and state in which an e-mail may be known or not. */
export function createRows(db: Database, target: Target): Row[] {
  return [
    {
      name: 'login, wrong password',
      kinds: ALL_KINDS,
      status: 401,
      // As many as there are threads that hash, on two cores.
      lanes: 2,
      request: (username) => post('/login', { username, password: 'not the password' }),
    },
    {
      name: 'resetrequest',
      kinds: ALL_KINDS,
      status: 200,
      lanes: 4,
      request: (email) => post('/login/resetrequest', { email }),
    },
    { name: 'signup', kinds: ALL_KINDS, status: 202, lanes: 2, request: signUp },
    ...Object.entries(RESET_STATES).flatMap(([state, sql]) => createResetRows(db, state, sql)),
    // A guess of the code of a sign-up, which was mailed to an e-mail that nobody had, or to nobody.
    createCodeRow(db, 'signup/confirm, open sign-up', {
      table: 'sign_up',
      open: signUp,
      sql: 'vacuum analyze sign_up',
      use: (email, token) => post('/signup/confirm', { email, code: WRONG_CODE, token }),
    }),
    createChangeRow(db, target, { which: 'right password', currentPassword: PASSWORD, status: 200 }),
    createChangeRow(db, target, { which: 'wrong password', currentPassword: 'not it', status: 422 }),
    createConfirmChangeRow(db, target),
  ]
}

const signUp = (email: string): TimedRequest =>
  post('/signup', { email, username: 'a new user', password: PASSWORD })

function createResetRows(db: Database, state: string, sql: string): Row[] {
  const reset = {
    table: 'password_reset',
    open: (email: string) => post('/login/resetrequest', { email }),
    sql,
  }
  const confirm = (email: string, token?: string) =>
    post('/login/confirmcode', { email, code: WRONG_CODE, token })
  return [
    createCodeRow(db, `confirmcode, ${state}`, { ...reset, use: confirm }),
    createCodeRow(db, `confirmcode without a token, ${state}`, { ...reset, use: (email) => confirm(email) }),
    createCodeRow(db, `resetpassword, ${state}`, {
      ...reset,
      use: (email, token) => post('/login/resetpassword', { email, token, password: 'N3w-p4ssw0rd!' }),
    }),
  ]
}

interface CodeRow {
  table: string
  /** The request that mails a code. */
  open: (email: string) => TimedRequest
  /** Brings what was opened into the state of the row. */
  sql: string
  use: (email: string, token: string | undefined) => TimedRequest
}

/** A row whose requests use the token that an earlier request about the same e-mail was answered with. */
function createCodeRow(db: Database, name: string, { table, open, sql, use }: CodeRow): Row {
  const tokens = new Map<string, string>()
  return {
    name,
    kinds: ['unknown', 'known'],
    status: 422,
    lanes: 1,
    async prepare(emails, send) {
      await db.runScript(`delete from ${table}`)
      // In turn, so that no kind has pages only for itself.
      await forEachEmail(emails, async (email) => {
        const { token = '' } = await send(open(email))
        tokens.set(email, token)
      })
      await db.runScript(sql)
    },
    request: (email) => use(email, tokens.get(email)),
  }
}

/** The change of a user's e-mail to one that may be known, with EMAIL_CHANGE=confirmed. */
function createChangeRow(
  db: Database,
  target: Target,
  { which, currentPassword, status }: { which: string; currentPassword: string; status: number },
): Row {
  let authorization: string | undefined
  return {
    name: `PUT /profile, another e-mail, ${which}`,
    kinds: ALL_KINDS,
    status,
    lanes: 4,
    async prepare() {
      authorization = (await storeUser(db, target)).authorization
    },
    request: (email) => ({
      method: 'PUT',
      path: '/profile',
      body: { email, current_password: currentPassword },
      authorization,
    }),
  }
}

/** A guess of the code that was mailed to an e-mail which nobody had, or of one that was mailed to nobody. */
function createConfirmChangeRow(db: Database, target: Target): Row {
  const authorizations = new Map<string, string | undefined>()
  return {
    name: 'confirmemail, open change',
    kinds: ['unknown', 'known'],
    status: 422,
    lanes: 1,
    async prepare(emails, send) {
      await forEachEmail(emails, async (email) => {
        const { authorization } = await storeUser(db, target)
        authorizations.set(email, authorization)
        const body = { email, current_password: PASSWORD }
        await send({ method: 'PUT', path: '/profile', body, authorization })
      })
      await db.runScript('vacuum analyze email_change')
    },
    request: (email) => ({
      ...post('/profile/confirmemail', { code: WRONG_CODE }),
      authorization: authorizations.get(email),
    }),
  }
}

async function forEachEmail({ unknown, known }: Emails, work: (email: string) => Promise<void>) {
  const emails = unknown.flatMap((email, index) => [email, known[index] ?? '']).values()
  const lane = async () => {
    for (const email of emails) await work(email)
  }
  await Promise.all(Array.from({ length: PREPARED_TOGETHER }, lane))
}

const post = (path: string, body: object): TimedRequest => ({ method: 'POST', path, body })
