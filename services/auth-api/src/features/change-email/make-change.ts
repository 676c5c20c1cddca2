import type { Clock } from '@latchkey/shared/clock.ts'
import type { Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import type { Mails } from '@latchkey/shared/mail-outbox/accept-mail.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import { languageOf, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { endTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Caller } from '../tokens/caller.ts'

export interface MakeEmailChangeDependencies {
  usersOf: (transaction: Queryable) => Pick<UserRepository, 'findById' | 'setEmail' | 'setProperty'>
  /** Ends every code that was mailed to the user. */
  endCodes: (transaction: Queryable, userid: string, now: Date) => Promise<void>
  mails: Pick<Mails, 'accept'>
  clock: Clock
}

/** Changes the e-mail of a token's user inside a transaction that has locked the user. */
export type MakeEmailChange = (
  transaction: Transaction,
  user: User,
  email: string,
  caller: Caller,
) => Promise<void>

/** A notice is of use for some days after the change. */
const NOTICE_MS = 7 * 24 * 60 * 60 * 1000

/**
 * Another e-mail ends the codes that were mailed to the user and every token but the caller's, and the old address gets a
 * notice. Throws `email_taken`.
 */
export function createMakeEmailChange(dependencies: MakeEmailChangeDependencies): MakeEmailChange {
  const { usersOf, endCodes, mails, clock } = dependencies

  async function notify(transaction: Transaction, user: User, now: number): Promise<void> {
    if (!user.email) return
    await mails.accept(transaction, {
      template: 'email-changed',
      to: user.email,
      language: languageOf(user),
      variables: { name: user.name ?? '' },
      expiresAt: new Date(now + NOTICE_MS),
    })
  }

  return async (transaction, user, email, { claims, audit }) => {
    const users = usersOf(transaction)
    await users.setEmail(user.userid, email)
    if (isSameMailbox(user, email)) return
    const now = clock()
    await endCodes(transaction, user.userid, new Date(now))
    await endTokens(users, user.userid, now, { except: claims.jti })
    await notify(transaction, user, now)
    await audit.write(transaction, { name: 'email.changed', userid: user.userid })
  }
}

/** The case of an address does not make it another one. */
export const isSameMailbox = (user: User, email: string): boolean => fold(user.email ?? '') === fold(email)
