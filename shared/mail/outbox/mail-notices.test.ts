import { describe, expect, it } from 'vitest'
import type { Transaction } from '../../database/database.ts'
import { aTransaction } from '../../database/test/a-transaction.ts'
import { ada } from '../../users/test/ada.ts'
import { LANGUAGE_PROPERTY, type User } from '../../users/user.ts'
import {
  accountOf,
  createNotices,
  formatMoment,
  maskNetwork,
  type Notice,
  type NoticeOrigin,
} from './mail-notices.ts'
import { MAIL_TEMPLATES, type MailVariables } from './mail-templates.ts'

const NOW = Date.parse('2026-11-22T11:15:30Z')
const DAY_MS = 24 * 60 * 60 * 1000
const ADA = ada({ properties: [{ name: LANGUAGE_PROPERTY, value: 'pt' }] })
const TRANSACTION = aTransaction()

interface Accepted {
  transaction: Transaction
  to: string
  language: string
  template: string
  /** The variables as the template takes them. */
  variables: MailVariables
  expiresAt: Date
}

/** The mails that a notice to `user` causes. */
async function mailsOf(notice: Notice, origin: NoticeOrigin, user: User = ADA) {
  const accepted: Accepted[] = []
  const notify = createNotices(
    {
      async accept(transaction, { template, variables, ...mail }) {
        const parsed = MAIL_TEMPLATES[template].parse(variables)
        accepted.push({ transaction, template, variables: parsed, ...mail })
        return ''
      },
    },
    () => NOW,
  )
  await notify(TRANSACTION, user, notice, origin)
  return accepted
}

const EVENT = {
  name: 'Ada',
  account: accountOf(ADA).account,
  at: '22 de novembro de 2026 às 11:15 UTC',
  address: '192.0.*.*',
}

describe('a notice', () => {
  it.each<{ notice: Notice; variables: MailVariables }>([
    { notice: { template: 'password-changed' }, variables: EVENT },
    { notice: { template: 'email-changed' }, variables: EVENT },
    { notice: { template: 'roles-changed', role: 'editor' }, variables: { ...EVENT, role: 'editor' } },
    { notice: { template: 'failed-logins', count: 12 }, variables: { ...EVENT, count: '12' } },
    { notice: { template: 'failed-factors', count: 5 }, variables: { ...EVENT, count: '5' } },
    { notice: { template: 'recovery-codes-renewed' }, variables: EVENT },
  ])('says to whom, when and from where: $notice.template', async ({ notice, variables }) => {
    expect(await mailsOf(notice, '192.0.2.1')).toEqual([
      {
        transaction: TRANSACTION,
        to: 'ada@example.com',
        language: 'pt',
        template: notice.template,
        variables,
        expiresAt: new Date(NOW + 7 * DAY_MS),
      },
    ])
  })

  it('has no address where an admin caused it', async () => {
    const [mail] = await mailsOf({ template: 'password-changed' }, undefined)
    expect(mail?.variables).toEqual({ ...EVENT, address: undefined })
  })

  it('is not sent to a user without an e-mail', async () => {
    expect(await mailsOf({ template: 'password-changed' }, undefined, { ...ADA, email: null })).toEqual([])
  })
})

it('masks the account in a mail, and has a text for what a user lacks', () => {
  expect(accountOf(ADA)).toEqual({ name: 'Ada', account: expect.not.stringContaining('ada@example.com') })
  expect(accountOf({ name: null, email: null })).toEqual({ name: '', account: '' })
})

it.each([
  ['en', '22 November 2026 at 11:15 UTC'],
  ['pt', '22 de novembro de 2026 às 11:15 UTC'],
])('writes a moment as %s has it', (language, text) => {
  expect(formatMoment(language, NOW)).toBe(text)
})

it.each([
  ['192.0.2.1', '192.0.*.*'],
  ['2001:db8:1:2::3', '2001:db8:*'],
  ['disconnected', '?'],
])('shows the start of %s only', (address, start) => {
  expect(maskNetwork(address)).toBe(start)
})
