import type { Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import { aTransaction } from '@latchkey/shared/database/test/a-transaction.ts'
import { MAIL_TEMPLATES } from '@latchkey/shared/mail/outbox/mail-templates.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { describe, expect, it, vi } from 'vitest'
import { aClient } from '../../../test/support/a-client.ts'
import { aCore } from '../../../test/support/a-core.ts'
import { createCodeSecrets } from '../one-time-codes/code-secrets.ts'
import { createRequestReset } from './request-reset.ts'

const ADA = ada()

/** Requests a reset and returns the variables of its mail, as the template's schema takes them. */
async function variablesFor(user: User | undefined, ttlSeconds: number) {
  const accept = vi.fn(async (_transaction: Queryable, _mail: { variables: unknown }) => 'id')
  const acceptDecoy = vi.fn(async (_transaction: Queryable, _mail: { variables: unknown }) => 'id')
  const core = aCore({
    limitResets: async () => undefined,
    users: { findByLogin: async () => user },
    transaction: <Result>(work: (transaction: Transaction) => Promise<Result>) => work(aTransaction()),
    mails: { accept, acceptDecoy },
    mailLink: () => undefined,
    codeSecrets: { reset: createCodeSecrets('reset', [new Uint8Array(64)]) },
    sharedNow: Date.now,
  })
  const requestReset = createRequestReset(core, { ttlSeconds, attempts: 5 })
  await requestReset('ada@example.com', aClient())
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
