import { aTransaction } from '@latchkey/shared/database/test/a-transaction.ts'
import type { Mails } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { expect, it } from 'vitest'
import type { GuardedUser } from '../src/features/account/account-guard.ts'
import { createRequestEmailChange } from '../src/features/account/request-email-change.ts'
import { createRequestReset } from '../src/features/password-reset/request-reset.ts'
import { createRequestSignUp } from '../src/features/sign-up/request-sign-up.ts'
import { aClient } from './support/a-client.ts'
import { aCore } from './support/a-core.ts'

const EMAIL = 'grace@example.com'
const client = aClient()

/** Creates the requests of each kind, for an e-mail that `owner` has; the mailed code is 123456. */
function requestsFor(owner: User | undefined) {
  const stored: { codeHash: string; expiresAt: Date }[] = []
  const mails: string[] = []
  const keep = (to: string, template: string, code: unknown) =>
    void mails.push(`${template} to ${to}${code === undefined ? '' : ` with ${code}`}`)
  /** Keeps the row that is inserted. */
  const db = aTransaction({
    async execute({ text }, values = []) {
      if (!/^insert into/.test(String(text))) return 0
      stored.push({ codeHash: String(values[1]), expiresAt: values[3] as Date })
      return 1
    },
  })
  const secrets = {
    generateToken: () => 'token',
    generateCode: () => '123456',
    hash: (_id: string, value: string) => `hash of ${value}`,
    unmatchableHash: () => 'hash of nothing',
    isHashOf: () => false,
  }
  const core = aCore({
    users: { findByLogin: async () => owner },
    limitResets: async () => undefined,
    limitSignUps: async () => undefined,
    usersIn: () => ({ findByLogin: async () => owner }),
    transaction: <Result>(work: (db: ReturnType<typeof aTransaction>) => Promise<Result>) => work(db),
    mails: {
      async accept(_db, { to, template, variables }) {
        keep(to, template, 'code' in variables ? variables.code : undefined)
        return 'id'
      },
      async acceptDecoy(_db, { template }) {
        keep('nobody', template, undefined)
        return 'id'
      },
    } satisfies Mails,
    mailLink: () => undefined,
    codeSecrets: { reset: secrets, email: secrets, signup: secrets },
    hashFor: () => async () => 'hash of a password',
    sharedNow: () => 0,
  })
  const reset = { ttlSeconds: 600, attempts: 5 }
  const policy = { ...DEFAULT_POLICY, PASSWORD_HASH: 'sha1' as const }
  const signUp = { mode: 'on' as const, domains: [] }
  const requestSignUp = createRequestSignUp(core, { policy, signUp, reset })
  return {
    stored,
    mails,
    reset: () => createRequestReset(core, reset)(EMAIL, client),
    signUp: () => requestSignUp({ email: EMAIL, username: 'grace', password: 'c0rrect-Horse!' }, client),
    emailChange: () =>
      createRequestEmailChange(core, reset)(
        db,
        ada() as GuardedUser,
        { email: EMAIL, begunUnder: 'the guard' },
        client.audit,
      ),
  }
}

const OWNER = ada({ email: EMAIL })
const DELETED = ada({ email: EMAIL, deletedAt: new Date(0) })

// A guess would match one of a million codes.
it.each([
  { request: 'reset', owner: OWNER, code: '123456', mail: `password-reset to ${EMAIL} with 123456` },
  { request: 'reset', owner: undefined, mail: 'password-reset to nobody' },
  { request: 'reset', owner: DELETED, mail: 'password-reset to nobody' },
  { request: 'signUp', owner: undefined, code: '123456', mail: `sign-up to ${EMAIL} with 123456` },
  { request: 'signUp', owner: OWNER, mail: `sign-up-taken to ${EMAIL}` },
  { request: 'signUp', owner: DELETED, mail: `sign-up-deleted to ${EMAIL}` },
  { request: 'emailChange', owner: undefined, code: '123456', mail: `email-change to ${EMAIL} with 123456` },
  { request: 'emailChange', owner: OWNER, mail: `email-in-use to ${EMAIL}` },
  { request: 'emailChange', owner: DELETED, mail: 'email-in-use to nobody' },
] as const)('a $request that causes the mail "$mail" is confirmed by its code only', async (given) => {
  const requests = requestsFor(given.owner)
  await requests[given.request]()
  expect(requests.mails).toEqual([given.mail])
  const codeHash = `hash of ${'code' in given ? given.code : 'nothing'}`
  expect(requests.stored).toMatchObject([{ codeHash, expiresAt: new Date(600_000) }])
})
