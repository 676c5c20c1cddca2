import { isIPv4, isIPv6 } from 'node:net'
import type { Transaction } from '../../database/database.ts'
import type { Clock } from '../../time/clock.ts'
import { maskAddress } from '../../users/email-address.ts'
import { languageOf, type User } from '../../users/user.ts'
import type { Mails } from './accept-mail.ts'

/** An event of an account that its user is told about. */
export type Notice =
  | {
      template:
        | 'password-changed'
        | 'username-changed'
        | 'email-changed'
        | 'new-client'
        | 'recovery-codes-renewed'
    }
  | { template: 'factor-added'; kind: string; hadOthers: boolean }
  /** `erasure`: when the data is erased, if it is. */
  | { template: 'account-deleted'; erasure?: Date | undefined }
  | { template: 'factor-removed'; isLast: boolean }
  | { template: 'recovery-code-used'; left: number }
  | { template: 'identity-added'; provider: string; isAlone: boolean }
  | { template: 'identity-removed'; provider: string }
  | { template: 'roles-changed'; role: string }
  | { template: 'failed-logins' | 'failed-factors'; count: number }

/** The address that caused it; undefined for what an admin does. */
export type NoticeOrigin = string | undefined

/** Accepts a notice to the e-mail that `user` had, in the transaction that it is about. */
export type SendNotice = (
  transaction: Transaction,
  user: User,
  notice: Notice,
  origin: NoticeOrigin,
) => Promise<void>

/** A notice is of use for some days. */
const NOTICE_MS = 7 * 24 * 60 * 60 * 1000

/** Creates the function that tells users what happened to their account. A notice contains no link and no secret. */
export function createNotices(mails: Pick<Mails, 'accept'>, localNow: Clock): SendNotice {
  return async (transaction, user, notice, origin) => {
    if (!user.email) return
    await mails.accept(transaction, {
      ...toMail(user, notice, { origin, now: localNow() }),
      to: user.email,
      language: languageOf(user),
      expiresAt: new Date(localNow() + NOTICE_MS),
    })
  }
}

function toMail(user: User, notice: Notice, { origin, now }: { origin: NoticeOrigin; now: number }) {
  const address = origin === undefined ? undefined : maskNetwork(origin)
  const shared = { ...accountOf(user), at: formatMoment(languageOf(user), now), address }
  switch (notice.template) {
    case 'roles-changed':
      return { template: notice.template, variables: { ...shared, role: notice.role } } as const
    case 'failed-logins':
    case 'failed-factors':
      return { template: notice.template, variables: { ...shared, count: notice.count } } as const
    case 'factor-added': {
      const passkey = notice.kind === 'passkey' ? 'passkey' : undefined
      const custom = ['totp', 'passkey'].includes(notice.kind) ? undefined : 'custom'
      const others = notice.hadOthers ? 'others' : undefined
      return { template: notice.template, variables: { ...shared, passkey, custom, others } } as const
    }
    case 'factor-removed': {
      const last = notice.isLast ? 'last' : undefined
      return { template: notice.template, variables: { ...shared, last } } as const
    }
    case 'identity-added': {
      const alone = notice.isAlone ? 'alone' : undefined
      return {
        template: notice.template,
        variables: { ...shared, provider: notice.provider, alone },
      } as const
    }
    case 'identity-removed':
      return { template: notice.template, variables: { ...shared, provider: notice.provider } } as const
    case 'account-deleted': {
      const erasure = notice.erasure && formatMoment(languageOf(user), notice.erasure.getTime())
      return { template: notice.template, variables: { ...shared, erasure } } as const
    }
    case 'recovery-code-used':
      return { template: notice.template, variables: { ...shared, left: String(notice.left) } } as const
    default:
      return { template: notice.template, variables: shared }
  }
}

/** Returns the variables by which each mail names its account. */
export const accountOf = ({ name, email }: Pick<User, 'name' | 'email'>) => ({
  name: name ?? '',
  account: email ? maskAddress(email) : '',
})

/** A time as a mail says it, for example `22 November 2026 at 11:15 UTC`. */
export const formatMoment = (language: string, now: number): string =>
  `${new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' }).format(now)} UTC`

/** The start of an address, for example `192.0.*.*`: enough to recognise a network, too little to find a person. */
export function maskNetwork(address: string): string {
  if (isIPv4(address)) return `${address.split('.', 2).join('.')}.*.*`
  if (isIPv6(address)) return `${address.split(':', 2).join(':')}:*`
  return '?'
}
