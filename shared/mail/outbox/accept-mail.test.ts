import { randomBytes } from 'node:crypto'
import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import { z } from 'zod'
import type { SqlParameter } from '../../database/database.ts'
import { aTransaction } from '../../database/test/a-transaction.ts'
import { createMails, type Mail, type Mails } from './accept-mail.ts'
import { MAIL_TEMPLATES, wholeNumber } from './mail-templates.ts'
import { createSealer } from './seal-variables.ts'

const NOW = Date.parse('2026-01-01T00:00:00Z')
const sealer = createSealer(randomBytes(32))
const reset = {
  template: 'password-reset',
  to: 'ada@example.com',
  language: 'pt',
  variables: { code: '123456', minutes: 10, name: 'Ada' },
  expiresAt: new Date(NOW + 600_000),
} as const

/** A transaction that keeps what is written, and commits by hand. */
function aRecordingTransaction() {
  const written: { statement: string; values: readonly SqlParameter[] }[] = []
  const registered: (() => void)[] = []
  const transaction = aTransaction({
    execute: async ({ name }, values = []) => written.push({ statement: name, values }),
    afterCommit: (work) => void registered.push(work),
  })
  const commit = () => {
    for (const work of registered) work()
  }
  return { transaction, written, commit }
}

function aMails() {
  const dispatcher = { dispatch: vi.fn(), discard: vi.fn() }
  const mails = createMails({ templates: MAIL_TEMPLATES, sealer, dispatcher, localNow: () => NOW })
  return { dispatcher, mails }
}

describe('accepting a mail', () => {
  it('writes the same row for a decoy, without a recipient and expired, and discards it after the commit', async () => {
    const { mails, dispatcher } = aMails()
    const { transaction, written, commit } = aRecordingTransaction()
    const { template, variables } = reset
    const id = await mails.acceptDecoy(transaction, { template, variables })
    expect(written).toEqual([
      { statement: 'outbox-insert', values: [id, expect.any(String), new Date(NOW), new Date(0)] },
    ])
    const job = JSON.parse(String(written[0]?.values[1]))
    expect(job).toMatchObject({ to: 'decoy@latchkey.invalid', language: 'en' })
    commit()
    expect(dispatcher.discard).toHaveBeenCalledExactlyOnceWith(id)
    expect(dispatcher.dispatch).not.toHaveBeenCalled()
  })

  it.each([
    { why: 'a missing variable', variables: { minutes: 10 }, says: 'code' },
    { why: 'a wrong one', variables: { code: 'abc123', minutes: 10 }, says: 'code' },
    { why: 'a code that is too long', variables: { code: '1234567', minutes: 10 }, says: 'code: ' },
    { why: 'one of the wrong type', variables: { code: '123456', minutes: '10' }, says: 'minutes' },
    { why: 'several', variables: { minutes: 0 }, says: /code: .*; minutes: / },
    { why: 'an undeclared one', variables: { code: '123456', minutes: 10, link: 'x' }, says: 'link' },
  ])('refuses $why before anything is written, without showing a value', async ({ variables, says }) => {
    const { mails, dispatcher } = aMails()
    const { transaction, written, commit } = aRecordingTransaction()
    // As from a caller that the compiler does not check.
    const unchecked = { ...reset, variables } as unknown as typeof reset
    const failure = mails.accept(transaction, unchecked)
    await expect(failure).rejects.toThrow(TypeError)
    await expect(failure).rejects.toThrow(says)
    await expect(failure).rejects.not.toThrow(/abc123|123456/)
    commit()
    expect(written).toEqual([])
    expect(dispatcher.dispatch).not.toHaveBeenCalled()
  })
})

it('refuses a template that is not declared, also under a name that every object has', async () => {
  const { mails } = aMails()
  const { transaction, written } = aRecordingTransaction()
  for (const template of ['invitation', 'toString'])
    await expect(
      // As from a caller that the compiler does not check.
      mails.accept(transaction, { ...reset, template } as unknown as typeof reset),
    ).rejects.toThrow(`The mail template ${template} is not declared; add it to MAIL_TEMPLATES`)
  expect(written).toEqual([])
})

describe('the types of a mail', () => {
  const templates = { ...MAIL_TEMPLATES, invitation: z.strictObject({ link: z.url(), guests: wholeNumber }) }
  type Variables<Name extends keyof typeof templates> = Mail<typeof templates, Name>['variables']

  it('are those that its template declares', () => {
    expectTypeOf<Variables<'invitation'>>().toEqualTypeOf<{ link: string; guests: number }>()
    expectTypeOf<{ code: string; minutes: number }>().toExtend<Variables<'password-reset'>>()
    expectTypeOf<{ minutes: number }>().not.toExtend<Variables<'password-reset'>>()
    expectTypeOf<{ code: string; minutes: string }>().not.toExtend<Variables<'password-reset'>>()
  })

  it('name no template that is not declared', () => {
    expectTypeOf<Parameters<Mails['accept']>[1]['template']>().toEqualTypeOf<keyof typeof MAIL_TEMPLATES>()
    expectTypeOf<Parameters<Mails<typeof templates>['accept']>[1]['template']>().toEqualTypeOf<
      keyof typeof MAIL_TEMPLATES | 'invitation'
    >()
  })
})
