import { hash, randomUUID } from 'node:crypto'
import type { Database, Statement } from '@latchkey/shared/database/database.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { SignJWT } from 'jose'
import { createCodeSecrets } from '../../services/auth-api/src/codes/code-secrets.ts'
import { createChangeRepository } from '../../services/auth-api/src/features/change-email/change-repository.ts'
import { createResetRepository } from '../../services/auth-api/src/features/password-reset/reset-repository.ts'
import { createSignUpRepository } from '../../services/auth-api/src/features/sign-up/sign-up-repository.ts'

/** What an e-mail may be. Requests about all kinds of a row must take the same time. */
export type Kind = 'unknown' | 'known' | 'deleted'

export interface TimedRequest {
  method: string
  path: string
  /** JSON. */
  body: string
  authorization?: string
}

export interface Row {
  name: string
  /** `unknown` is the one that the others are compared with. */
  kinds: readonly Kind[]
  /** The status of every response. */
  status: number
  /** Requests in flight at the same time; more than one where a request mostly waits. */
  lanes: number
  prepare(emails: Emails): Promise<void>
  request(email: string): TimedRequest
}

export type Emails = Readonly<Record<Kind, readonly string[]>>

const OWN_TOKEN = 'the token of the reset request'
const WRONG_CODE = '000000'
const CODE = '123456'
const PASSWORD = 'N3w-p4ssw0rd!'

const FIND_OWNERS: Statement = { name: 'bench-owners', text: 'select userid, email from users' }

interface ResetState {
  /** That of the reset by default. */
  token?: string
  expiresInMs?: number
  attempts?: number
}

/** The states in which a request finds the reset of an e-mail; undefined for none. */
const STATES: Record<string, ResetState | undefined> = {
  'no reset': undefined,
  'open reset': {},
  'open reset, another token': { token: 'another token' },
  'expired reset': { expiresInMs: -1_000 },
  'reset out of attempts': { attempts: 5 },
}

/** Every route and state in which an e-mail may be known or not. */
export function createRows(db: Database, jwtSecret: Uint8Array): Row[] {
  const secrets = createCodeSecrets('reset', jwtSecret)
  const prepareNothing = async () => undefined

  async function insertResets(emails: Emails, { expiresInMs = 600_000, attempts = 0 }: ResetState) {
    const now = new Date()
    const stored = await db.query<{ userid: unknown; email: string }>(FIND_OWNERS)
    const owners = new Map(stored.map(({ userid, email }) => [email, db.fromUuidValue(userid)]))
    await db.transaction(async (transaction) => {
      const resets = createResetRepository(transaction)
      // In turn, so that no kind has pages of its own.
      for (const email of emails.unknown.flatMap((unknown, index) => [unknown, emails.known[index] ?? ''])) {
        const [id, userid] = [randomUUID(), owners.get(email)]
        const codeHash = secrets.hash(id, CODE)
        await resets.insert(
          {
            id,
            userid: userid ?? randomUUID(),
            email,
            tokenHash: secrets.hash(id, OWN_TOKEN),
            codeHash: userid ? codeHash : secrets.hashOfNothing(),
            expiresAt: new Date(now.getTime() + expiresInMs),
          },
          now,
        )
      }
    })
    await db.execute({ name: 'bench-attempts', text: 'update password_reset set attempts = $1' }, [attempts])
  }

  const resetRows = Object.entries(STATES).flatMap(([state, given]) => {
    const token = given?.token ?? OWN_TOKEN
    const shared = {
      kinds: ['unknown', 'known'] as const,
      status: 422,
      lanes: 1,
      async prepare(emails: Emails) {
        await db.execute({ name: 'bench-clear', text: 'delete from password_reset' })
        if (given) await insertResets(emails, given)
        await db.runScript('vacuum analyze password_reset')
      },
    }
    return [
      {
        ...shared,
        name: `confirmcode, ${state}`,
        request: (email: string) => post('/login/confirmcode', { email, code: WRONG_CODE, token }),
      },
      {
        ...shared,
        name: `confirmcode without a token, ${state}`,
        request: (email: string) => post('/login/confirmcode', { email, code: WRONG_CODE }),
      },
      {
        ...shared,
        name: `resetpassword, ${state}`,
        request: (email: string) => post('/login/resetpassword', { email, token, password: PASSWORD }),
      },
    ]
  })
  return [
    {
      name: 'login, wrong password',
      kinds: ['unknown', 'known', 'deleted'],
      status: 401,
      // As many as there are threads that hash, on two cores.
      lanes: 2,
      prepare: prepareNothing,
      request: (username) => post('/login', { username, password: 'not the password' }),
    },
    {
      name: 'resetrequest',
      kinds: ['unknown', 'known', 'deleted'],
      status: 200,
      lanes: 4,
      prepare: prepareNothing,
      request: (email) => post('/login/resetrequest', { email }),
    },
    {
      name: 'signup',
      kinds: ['unknown', 'known', 'deleted'],
      status: 202,
      lanes: 2,
      prepare: prepareNothing,
      request: (email) => post('/signup', { email, username: 'a new user', password: PASSWORD }),
    },
    ...resetRows,
    ...createChangeRows(db, jwtSecret),
    createConfirmationRow(db, jwtSecret),
    ...createSignUpRows(db, jwtSecret),
  ]
}

/** A guess of the code of a sign-up: one that was mailed to an e-mail which nobody had, or to nobody. */
function createSignUpRows(db: Database, jwtSecret: Uint8Array): Row[] {
  const secrets = createCodeSecrets('signup', jwtSecret)

  async function insertSignUp(email: string, codeHashOf: (id: string) => string): Promise<void> {
    const [id, now] = [randomUUID(), new Date()]
    const pending = {
      name: undefined,
      email,
      username: 'a new user',
      language: 'en',
      passwordHash: '',
    } as const
    const tokenHash = secrets.hash(id, OWN_TOKEN)
    const expiresAt = new Date(now.getTime() + 600_000)
    await createSignUpRepository(db).insert(
      { ...pending, id, tokenHash, codeHash: codeHashOf(id), expiresAt },
      now,
    )
  }

  return ['no sign-up', 'open sign-up'].map((state) => ({
    name: `signup/confirm, ${state}`,
    kinds: ['unknown', 'known'],
    status: 422,
    lanes: 1,
    async prepare({ unknown, known }) {
      await db.execute({ name: 'bench-clear-sign-ups', text: 'delete from sign_up' })
      if (state === 'open sign-up')
        for (const [index, email] of unknown.entries()) {
          await insertSignUp(email, (id) => secrets.hash(id, CODE))
          await insertSignUp(known[index] ?? '', () => secrets.hashOfNothing())
        }
      await db.runScript('vacuum analyze sign_up')
    },
    request: (email) => post('/signup/confirm', { email, code: WRONG_CODE, token: OWN_TOKEN }),
  }))
}

/** The change of a user's e-mail to one that may be known, with EMAIL_CHANGE=confirmed. */
function createChangeRows(db: Database, jwtSecret: Uint8Array): Row[] {
  const rows = [
    { which: 'right password', currentPassword: PASSWORD, status: 200 },
    { which: 'wrong password', currentPassword: 'not the password', status: 422 },
  ]
  return rows.map(({ which, currentPassword, status }) => {
    let authorization = ''
    return {
      name: `PUT /profile, another e-mail, ${which}`,
      kinds: ['unknown', 'known', 'deleted'],
      status,
      lanes: 4,
      async prepare() {
        authorization = await authorizationOf(jwtSecret, await storeUser(db))
      },
      request: (email) => ({
        method: 'PUT',
        path: '/profile',
        body: JSON.stringify({ email, currentPassword }),
        authorization,
      }),
    }
  })
}

/** A guess of the code that was mailed to an e-mail which nobody had, or of one that was mailed to nobody. */
function createConfirmationRow(db: Database, jwtSecret: Uint8Array): Row {
  const secrets = createCodeSecrets('email', jwtSecret)
  const authorizations = new Map<string, string>()

  async function insertChange(email: string, codeHashOf: (id: string) => string): Promise<void> {
    const [id, userid, now] = [randomUUID(), await storeUser(db), new Date()]
    const expiresAt = new Date(now.getTime() + 600_000)
    const changes = createChangeRepository(db)
    await changes.insert({ id, userid, email, codeHash: codeHashOf(id), expiresAt }, now)
    authorizations.set(email, await authorizationOf(jwtSecret, userid))
  }

  return {
    name: 'confirmemail, open change',
    kinds: ['unknown', 'known'],
    status: 422,
    lanes: 1,
    async prepare({ unknown, known }) {
      for (const [index, email] of unknown.entries()) {
        await insertChange(email, (id) => secrets.hash(id, CODE))
        await insertChange(known[index] ?? '', () => secrets.hashOfNothing())
      }
      await db.runScript('vacuum analyze email_change')
    },
    request: (email) => ({
      ...post('/profile/confirmemail', { code: WRONG_CODE }),
      authorization: authorizations.get(email) ?? '',
    }),
  }
}

/** A user of their own, with the password `PASSWORD`. */
function storeUser(db: Database): Promise<string> {
  const username = randomUUID().slice(0, 18)
  const user = { username, email: `${username}@example.com`, passwordHash: hash('sha1', PASSWORD) }
  return createUserRepository(db).insert(user)
}

/** As the service would issue it, for longer than a run takes. */
async function authorizationOf(jwtSecret: Uint8Array, userid: string): Promise<string> {
  const token = await new SignJWT({ data: { userid, name: '', role: 'user' } })
    .setProtectedHeader({ alg: 'HS512', typ: 'JWT' })
    .setIssuer('http://bench')
    .setSubject(userid)
    .setIssuedAt()
    .setNotBefore('0s')
    .setExpirationTime('1d')
    .setJti(randomUUID())
    .sign(jwtSecret)
  return `Bearer ${token}`
}

const post = (path: string, body: object): TimedRequest => ({
  method: 'POST',
  path,
  body: JSON.stringify(body),
})
