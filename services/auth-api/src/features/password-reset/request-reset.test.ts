import type { Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import { postgres } from '@latchkey/shared/database/postgres/dialect.ts'
import { createMails } from '@latchkey/shared/mail-outbox/accept-mail.ts'
import { MAIL_TEMPLATES } from '@latchkey/shared/mail-outbox/mail-templates.ts'
import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { describe, expect, it, vi } from 'vitest'
import { createCodeSecrets } from '../../one-time-codes/code-secrets.ts'
import { createRequestReset } from './request-reset.ts'
import { createResetRepository } from './reset-repository.ts'

const ADA: User = {
  userid: '6f3f7f0e-0000-4000-8000-000000000000',
  name: 'Ada',
  email: 'ada@example.com',
  username: 'ada',
  role: 'user',
  passwordHash: '',
  createdAt: null,
  updatedAt: null,
  deletedAt: null,
  properties: [],
}
const transaction: Transaction = {
  dialect: postgres,
  query: async () => [],
  execute: async () => 0,
  toUuidValue: (uuid) => uuid,
  fromUuidValue: String,
  afterCommit: () => undefined,
}

/** Requests a reset and returns the variables of its mail, as the template's schema takes them. */
async function variablesFor(user: User | undefined, ttlSeconds: number) {
  const accept = vi.fn(async (_transaction: Queryable, _mail: { variables: unknown }) => 'id')
  const acceptDecoy = vi.fn(async (_transaction: Queryable, _mail: { variables: unknown }) => 'id')
  const requestReset = createRequestReset({
    users: { findByLogin: async () => user },
    transaction: (work) => work(transaction),
    resetsOf: () => ({ insert: async () => undefined, closeOlder: async () => 0 }),
    mails: { accept, acceptDecoy },
    secrets: createCodeSecrets('reset', new Uint8Array(64)),
    ttlSeconds,
    clock: Date.now,
  })
  await requestReset('ada@example.com', { report: () => undefined })
  const [used, unused] = user ? [accept, acceptDecoy] : [acceptDecoy, accept]
  expect(unused).not.toHaveBeenCalled()
  return MAIL_TEMPLATES['password-reset'].parse(used.mock.calls[0]?.[1].variables)
}

describe('the lifetime that a mail names', () => {
  it.each([
    { ttlSeconds: 29, minutes: '1', seconds: '29' },
    { ttlSeconds: 90, minutes: '1', seconds: '90' },
    { ttlSeconds: 119, minutes: '1', seconds: '119' },
    { ttlSeconds: 120, minutes: '2', seconds: undefined },
    { ttlSeconds: 179, minutes: '2', seconds: undefined },
    { ttlSeconds: 600, minutes: '10', seconds: undefined },
  ])('is never longer than RESET_TTL=$ttlSeconds', async ({ ttlSeconds, minutes, seconds }) => {
    const variables = await variablesFor(ADA, ttlSeconds)
    expect(variables).toMatchObject({ minutes, name: 'Ada' })
    expect(variables.seconds).toBe(seconds)
  })
})

it('gives a decoy the variables of a mail', async () => {
  const [mail, decoy] = [await variablesFor(ADA, 600), await variablesFor(undefined, 600)]
  expect(Object.keys(decoy)).toEqual(Object.keys(mail))
})

it('runs the same statements and registers the same work for a known and an unknown e-mail', async () => {
  const [known, unknown] = [await workFor(ADA), await workFor(undefined)]
  expect(known).toEqual(['reset-insert', 'reset-close-older', 'outbox-insert', 'after commit'])
  // How long both take is measured by `npm run bench:reset`.
  expect(unknown).toEqual(known)
})

/** The statements of a request's transaction, with what it leaves until after the commit. */
async function workFor(user: User | undefined): Promise<string[]> {
  const work: string[] = []
  const recording: Transaction = {
    ...transaction,
    execute: async ({ name }) => work.push(name),
    afterCommit: () => void work.push('after commit'),
  }
  await createRequestReset({
    users: { findByLogin: async () => user },
    transaction: (run) => run(recording),
    resetsOf: createResetRepository,
    mails: createMails({
      templates: MAIL_TEMPLATES,
      sealer: createSealer(new Uint8Array(32)),
      dispatcher: { dispatch: () => undefined, discard: () => undefined },
      clock: Date.now,
    }),
    secrets: createCodeSecrets('reset', new Uint8Array(64)),
    ttlSeconds: 600,
    clock: Date.now,
  })('ada@example.com', { report: () => undefined })
  return work
}
