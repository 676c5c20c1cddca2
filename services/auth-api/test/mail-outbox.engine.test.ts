import { createMails } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import { MAIL_TEMPLATES } from '@latchkey/shared/mail/outbox/mail-templates.ts'
import { createOutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { createSealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'

const dispatcher = { dispatch: vi.fn<(id: string) => void>(), discard: vi.fn<(id: string) => void>() }
const mails = createMails({
  templates: MAIL_TEMPLATES,
  sealer: createSealer(new Uint8Array(32)),
  dispatcher,
  localNow: Date.now,
})
const mail = {
  template: 'password-reset',
  to: 'ada@example.com',
  language: 'en',
  variables: { code: '123456', minutes: 10 },
  expiresAt: new Date(Date.now() + 600_000),
} as const

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())
beforeEach(() => void vi.clearAllMocks())

const isStored = (id: string) => createOutboxRepository(database.db).has(id)

describe('a mail that is accepted in a transaction', () => {
  it('is stored and dispatched when the transaction commits', async () => {
    const id = await database.db.transaction(async (transaction) => {
      const accepted = await mails.accept(transaction, mail)
      expect(await isStored(accepted), 'before the commit').toBe(false)
      expect(dispatcher.dispatch).not.toHaveBeenCalled()
      return accepted
    })
    expect(await isStored(id)).toBe(true)
    expect(dispatcher.dispatch).toHaveBeenCalledOnce()
  })

  it('is neither stored nor dispatched when the transaction is rolled back', async () => {
    let id = ''
    const failed = database.db.transaction(async (transaction) => {
      id = await mails.accept(transaction, mail)
      await mails.acceptDecoy(transaction, mail)
      throw new Error('rolled back')
    })
    await expect(failed).rejects.toThrow('rolled back')
    expect(await isStored(id)).toBe(false)
    expect(dispatcher.dispatch).not.toHaveBeenCalled()
    expect(dispatcher.discard).not.toHaveBeenCalled()
  })

  it('is dispatched once when the transaction is repeated after a deadlock', async () => {
    const users = createUserRepository(database.db)
    const [ada, eve] = [await aUser({ users }), await aUser({ users })]
    const bothHoldOne = Promise.withResolvers<void>()
    let attempts = 0
    const lockInOrder = (first: string, second: string) =>
      database.db.transaction(async (transaction) => {
        const id = await mails.accept(transaction, mail)
        await createUserRepository(transaction).lock(first)
        if (++attempts === 2) bothHoldOne.resolve()
        await bothHoldOne.promise
        await createUserRepository(transaction).lock(second)
        return id
      })
    const ids = await Promise.all([lockInOrder(ada.userid, eve.userid), lockInOrder(eve.userid, ada.userid)])
    expect(attempts).toBeGreaterThan(2)
    expect(dispatcher.dispatch.mock.calls.map(([id]) => id).sort()).toEqual(ids.toSorted())
    for (const id of ids) expect(await isStored(id)).toBe(true)
  })
})
