import { randomBytes } from 'node:crypto'
import type { Database, Statement } from '@latchkey/shared/database/database.ts'
import { createSealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import { MailJob } from '@latchkey/shared/mail/queue/mail-job.ts'
import { TOTP } from 'otpauth'
import { HTTP_ROWS, type HttpRow } from './rows.ts'
import type { HostName } from './run/hosts.ts'
import { signTokens } from './run/load.ts'
import { storeUser } from './run/store-user.ts'
import { PASSWORD, type Target } from './run/target.ts'

/** A request, and the status of its answer. */
export interface CountedRequest {
  method: string
  path: string
  status: number
  body?: string | undefined
  authorization?: string | undefined
}

/** The JSON of an answer, as far as later requests need it. */
interface Answer {
  token?: string
  secret?: string
  challenge?: string
  sessions?: { id: string }[]
}

export type Send = (request: CountedRequest) => Promise<Answer>

export interface RoundTripRow {
  name: string
  host: HostName
  /** Sends what has to come before the next request, and returns that request. */
  prepare(send: Send): CountedRequest | Promise<CountedRequest>
}

const MAIN = 'latchkey, every feature'
const WITH_SESSIONS = 'latchkey, every feature, SESSIONS=on'
const NEW_PASSWORD = 'An0ther-Horse!'
/** The period of a code of an authenticator app. */
const CODE_MS = 30_000

const FIND_MAIL: Statement = {
  name: 'bench-mail',
  text: 'select id, payload from mail_outbox where payload like $1 order by created_at desc limit 1',
}

/** The endpoints whose round trips are counted. */
export function createRoundTripRows(db: Database, target: Target): RoundTripRow[] {
  const { aUser, codeTo } = createSteps(db, target)

  async function requestReset(send: Send) {
    const { email } = await aUser()
    const { token } = await send(post('/login/resetrequest', { email }))
    return { email, token }
  }
  const confirmReset = async (send: Send) => {
    const { email, token } = await requestReset(send)
    return post('/login/confirmcode', { email, token, code: await codeTo(email) })
  }
  const signUp = () => {
    const username = randomName()
    return { email: `${username}@example.com`, username, password: PASSWORD }
  }
  async function enrol(send: Send) {
    const { email, authorization } = await aUser()
    const begun = post('/profile/factors/totp', { current_password: PASSWORD }, { authorization })
    const { secret = '' } = await send(begun)
    const code = codeAt(secret, Date.now())
    await send(post('/profile/factors/totp/confirm', { code }, { authorization }))
    return { secret, challenged: post('/login', { username: email, password: PASSWORD }, { status: 403 }) }
  }
  const changeEmail = async () => {
    const { authorization } = await aUser()
    const email = `${randomName()}@example.com`
    const body = { email, current_password: PASSWORD }
    return { email, authorization, request: { ...post('/profile', body, { authorization }), method: 'PUT' } }
  }
  const logIn = async () => post('/login', { username: (await aUser()).email, password: PASSWORD })
  const logInWithSession = async (send: Send) => `Bearer ${(await send(await logIn())).token}`

  const rows: Record<string, RoundTripRow['prepare']> = {
    'log-out': async () => post('/logout', {}, { ...(await aUser()), status: 204 }),
    'log-out everywhere': async () =>
      post('/logout', { everywhere: true }, { ...(await aUser()), status: 204 }),
    'reset, confirmation of the code': confirmReset,
    'reset, new password': async (send) => {
      const confirmation = await confirmReset(send)
      await send(confirmation)
      const { email, token } = JSON.parse(confirmation.body ?? '')
      return post('/login/resetpassword', { email, token, password: NEW_PASSWORD })
    },
    'sign-up, request': () => post('/signup', signUp(), { status: 202 }),
    'sign-up, confirmation of the code': async (send) => {
      const { email, username, password } = signUp()
      const { token } = await send(post('/signup', { email, username, password }, { status: 202 }))
      return post('/signup/confirm', { email, token, code: await codeTo(email) })
    },
    'login with a second factor, password': async (send) => (await enrol(send)).challenged,
    'login with a second factor, code': async (send) => {
      const { secret, challenged } = await enrol(send)
      const { challenge } = await send(challenged)
      // The present code was used.
      return post('/login/secondfactor', { challenge, code: codeAt(secret, Date.now() + CODE_MS) })
    },
    'change of the password': async () => ({
      ...post('/profile/password', { current_password: PASSWORD, password: NEW_PASSWORD }, await aUser()),
      method: 'PUT',
    }),
    'change of the e-mail, request': async () => (await changeEmail()).request,
    'change of the e-mail, confirmation of the code': async (send) => {
      const { email, authorization, request } = await changeEmail()
      await send(request)
      return post('/profile/confirmemail', { code: await codeTo(email) }, { authorization })
    },
    'deletion of the account': async () =>
      post('/profile/delete', { current_password: PASSWORD }, { ...(await aUser()), status: 204 }),
  }
  const rowsWithSessions: Record<string, RoundTripRow['prepare']> = {
    'login, sha1, SESSIONS=on': logIn,
    'list of the sessions': async (send) => get('/sessions', await logInWithSession(send)),
    'end of a session': async (send) => {
      const authorization = await logInWithSession(send)
      const { sessions } = await send(get('/sessions', authorization))
      return { method: 'DELETE', path: `/sessions/${sessions?.[0]?.id}`, authorization, status: 204 }
    },
  }
  const toRows = (prepared: typeof rows, host: HostName): RoundTripRow[] =>
    Object.entries(prepared).map(([name, prepare]) => ({ name, host, prepare }))
  return [
    ...SHARED_ROWS.map((row) => toRoundTripRow(row, target)),
    ...toRows(rows, MAIN),
    ...toRows(rowsWithSessions, WITH_SESSIONS),
  ]
}

const SHARED_ROWS = HTTP_ROWS.filter(({ name }) =>
  [
    'ping, remembered token',
    'ping, fresh tokens',
    'profile, read',
    'profile, write',
    'login, sha1',
    'refresh',
    'reset request',
  ].includes(name),
)

/** The requests of a row of the throughput, one after the other. */
function toRoundTripRow({ name, path, order }: HttpRow, target: Target): RoundTripRow {
  const { method, bodies = [], tokens, status } = order(target, 1)
  const authorizations = tokens ? signTokens({ ...tokens, count: Math.min(tokens.count, 256) }) : []
  let next = 0
  return {
    name,
    host: MAIN,
    prepare() {
      const index = next++
      const [body, authorization] = [bodies, authorizations].map((list) => list[index % list.length])
      return { method, path, status, body, authorization }
    },
  }
}

/** What rows need before a request: a user that no other request has changed, and the code of a mail. */
function createSteps(db: Database, target: Target) {
  const sealer = createSealer(Buffer.from(target.mailSecret, 'base64'))
  return {
    aUser: () => storeUser(db, target),
    async codeTo(email: string): Promise<string | undefined> {
      const [mail] = await db.query<{ id: unknown; payload: string }>(FIND_MAIL, [`%${email}%`])
      if (!mail) throw new Error(`No mail to ${email} was accepted`)
      const { code } = await sealer.open(db.fromUuidValue(mail.id), MailJob.parse(JSON.parse(mail.payload)))
      return code
    },
  }
}

const randomName = (): string => `bench-${randomBytes(6).toString('hex')}`

const codeAt = (secret: string, now: number): string => new TOTP({ secret }).generate({ timestamp: now })

const post = (
  path: string,
  body: object,
  { status = 200, authorization }: { status?: number; authorization?: string | undefined } = {},
): CountedRequest => ({ method: 'POST', path, body: JSON.stringify(body), status, authorization })

const get = (path: string, authorization?: string): CountedRequest => ({
  method: 'GET',
  path,
  status: 200,
  authorization,
})
