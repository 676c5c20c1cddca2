import { aTransaction } from '@latchkey/shared/database/test/a-transaction.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { expect, it } from 'vitest'
import { createRequestReset } from './password-reset/request-reset.ts'
import { createRequestEmailChange } from './profile/request-email-change.ts'
import { createRequestSignUp } from './sign-up/request-sign-up.ts'

const EMAIL = 'grace@example.com'
const audit = { address: '192.0.2.1', report: () => undefined, write: async () => undefined }

/** What each kind of request stores, for an e-mail that `owner` has; the mailed code is 123456. */
function requestsFor(owner: User | undefined) {
  const stored: { codeHash: string }[] = []
  const given = {
    users: { findByLogin: async () => owner },
    usersIn: () => ({ findByLogin: async () => owner }),
    transaction: <Result>(work: (db: ReturnType<typeof aTransaction>) => Promise<Result>) =>
      work(aTransaction()),
    mails: { accept: async () => 'id', acceptDecoy: async () => 'id' },
    secrets: {
      newToken: () => 'token',
      newCode: () => '123456',
      hash: (_id: string, value: string) => `hash of ${value}`,
      hashOfNothing: () => 'hash of nothing',
    },
    ttlSeconds: 600,
    clock: () => 0,
  }
  const inserting = () => ({ insert: async (row: { codeHash: string }) => void stored.push(row) })
  const passwords = { hash: async () => 'hash of a password' }
  const policy = {
    MINIMUM_CHARS: 1,
    REQUIRE_UPPERCASE: 0,
    REQUIRE_LOWERCASE: 0,
    REQUIRE_SYMBOLS: 0,
    REQUIRE_NUMBERS: 0,
    ALLOW_WHITESPACE: 1,
    ALLOW_SEQUENTIAL: 1,
    ALLOW_REPEATED: 1,
  }
  const requestSignUp = createRequestSignUp({
    ...given,
    signUpsIn: inserting,
    passwords,
    policy,
    domains: [],
  })
  return {
    stored,
    reset: () => createRequestReset({ ...given, resetsIn: inserting })(EMAIL, audit),
    signUp: () =>
      requestSignUp({ email: EMAIL, username: 'grace', password: 'x' }, audit, async () => undefined),
    emailChange: () =>
      createRequestEmailChange({ ...given, changesIn: inserting })(aTransaction(), ada(), EMAIL, audit),
  }
}

// A guess would match one of a million codes.
it.each([
  { request: 'reset', decoyFor: undefined, mailedFor: ada({ email: EMAIL }) },
  { request: 'signUp', decoyFor: ada({ email: EMAIL }), mailedFor: undefined },
  { request: 'emailChange', decoyFor: ada({ email: EMAIL }), mailedFor: undefined },
] as const)('a $request whose code is not mailed is confirmed by no code', async (each) => {
  const storedFor = async (owner: User | undefined) => {
    const requests = requestsFor(owner)
    await requests[each.request]()
    return requests.stored
  }
  expect(await storedFor(each.mailedFor)).toMatchObject([{ codeHash: 'hash of 123456' }])
  expect(await storedFor(each.decoyFor)).toMatchObject([{ codeHash: 'hash of nothing' }])
})
