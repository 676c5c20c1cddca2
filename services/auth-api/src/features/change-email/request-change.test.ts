import type { Transaction } from '@latchkey/shared/database/database.ts'
import { postgres } from '@latchkey/shared/database/postgres/dialect.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { expect, it, vi } from 'vitest'
import type { EmailChange } from './change-repository.ts'
import { createRequestChange } from './request-change.ts'

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
const GRACE: User = { ...ADA, userid: '6f3f7f0e-0000-4000-8000-000000000001', email: 'grace@example.com' }
const transaction: Transaction = {
  dialect: postgres,
  query: async () => [],
  execute: async () => 0,
  toUuidValue: (uuid) => uuid,
  fromUuidValue: String,
  afterCommit: (work) => work(),
}

/** Requests a change to an address that `owner` has; returns the row and the mail. */
async function request(owner: User | undefined) {
  const insert = vi.fn(async (_change: EmailChange, _now: Date) => undefined)
  const accept = vi.fn(async () => 'id')
  const acceptDecoy = vi.fn(async () => 'id')
  const hash = vi.fn((_id: string, value: string) => `hash of ${value}`)
  const write = vi.fn(async () => undefined)
  const requestChange = createRequestChange({
    usersOf: () => ({ findByLogin: async () => owner }),
    changesOf: () => ({ insert, endAll: async () => 0 }),
    mails: { accept, acceptDecoy },
    secrets: { newCode: () => '123456', hash, hashOfNothing: () => 'hash of nothing' },
    ttlSeconds: 600,
    clock: () => 0,
  })
  await requestChange(transaction, ADA, 'grace@example.com', { write })
  const [change] = insert.mock.calls[0] ?? []
  return {
    change,
    mails: accept.mock.calls,
    decoys: acceptDecoy.mock.calls,
    hashes: hash.mock.calls.length,
    events: write.mock.calls,
  }
}

it('stores the hash of the mailed code for a free address', async () => {
  const { change, mails } = await request(undefined)
  expect(change).toMatchObject({ userid: ADA.userid, email: 'grace@example.com', codeHash: 'hash of 123456' })
  expect(mails).toEqual([
    [transaction, expect.objectContaining({ template: 'email-change', to: 'grace@example.com' })],
  ])
})

it('stores the hash of no code for an address that is taken, after the same work', async () => {
  const [free, taken] = [await request(undefined), await request(GRACE)]
  expect(taken.change).toEqual({ ...free.change, id: expect.any(String), codeHash: 'hash of nothing' })
  expect(taken.mails).toEqual([
    [transaction, expect.objectContaining({ template: 'email-in-use', to: 'grace@example.com' })],
  ])
  expect(JSON.stringify(taken.mails)).not.toContain('123456')
  expect({ hashes: taken.hashes, events: taken.events }).toEqual({ hashes: free.hashes, events: free.events })
})

it('mails nothing to a deleted owner of the address', async () => {
  const { mails, decoys } = await request({ ...GRACE, deletedAt: new Date(0) })
  expect(mails).toEqual([])
  expect(decoys).toEqual([[transaction, expect.objectContaining({ template: 'email-in-use' })]])
})
