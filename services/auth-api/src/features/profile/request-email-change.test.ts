import { aTransaction } from '@latchkey/shared/database/test/a-transaction.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { expect, it } from 'vitest'
import type { EmailChange } from '../../one-time-codes/code-tables.ts'
import { createRequestEmailChange } from './request-email-change.ts'

/** What is stored for a change to an address that `owner` has. */
async function storedFor(owner: User | undefined): Promise<EmailChange[]> {
  const stored: EmailChange[] = []
  const requestChange = createRequestEmailChange({
    usersIn: () => ({ findByLogin: async () => owner }),
    changesIn: () => ({ insert: async (change) => void stored.push(change) }),
    mails: { accept: async () => 'id', acceptDecoy: async () => 'id' },
    secrets: {
      newCode: () => '123456',
      hash: (_id, code) => `hash of ${code}`,
      hashOfNothing: () => 'nothing',
    },
    ttlSeconds: 600,
    clock: () => 0,
  })
  await requestChange(aTransaction(), ada(), 'grace@example.com', { write: async () => undefined })
  return stored
}

it('no code confirms an address that another user has', async () => {
  expect(await storedFor(undefined)).toMatchObject([{ codeHash: 'hash of 123456' }])
  const owner = ada({ userid: crypto.randomUUID(), email: 'grace@example.com' })
  expect(await storedFor(owner)).toMatchObject([{ codeHash: 'nothing' }])
})
