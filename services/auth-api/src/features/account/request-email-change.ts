import type { Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import type { Mails } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import { accountOf } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import type { EmailChangeRepository } from '@latchkey/shared/users/email-change-repository.ts'
import { languageOf, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { CodeSecrets } from '../one-time-codes/code-secrets.ts'
import { issueCode, lifetimeOf } from '../one-time-codes/issue-code.ts'
import { tellOwner } from '../one-time-codes/tell-owner.ts'
import type { GuardedUser } from './account-guard.ts'

export interface RequestEmailChangeDependencies {
  usersIn: (transaction: Queryable) => Pick<UserRepository, 'findByLogin'>
  changesIn: (transaction: Queryable) => Pick<EmailChangeRepository, 'insert' | 'endAll'>
  mails: Mails
  secrets: Pick<CodeSecrets, 'generateCode' | 'hash' | 'hashOfNothing'>
  ttlSeconds: number
  sharedNow: Clock
}

export type RequestEmailChange = ReturnType<typeof createRequestEmailChange>

/**
 * Creates the function that mails a code to the new address of a user, and ends the earlier changes. An address that another
 * user has causes the same work and the same rows: its owner gets a mail that says so, and no code confirms the change.
 */
export function createRequestEmailChange(dependencies: RequestEmailChangeDependencies) {
  const { usersIn, changesIn, mails, secrets, ttlSeconds, sharedNow } = dependencies

  function acceptMail(
    transaction: Transaction,
    { user, owner, email }: { user: User; owner: User | undefined; email: string },
    { code, expiresAt }: { code: string; expiresAt: Date },
  ): Promise<string> {
    if (owner) return tellOwner(mails, transaction, owner, { template: 'email-in-use', expiresAt })
    // The mail does not contain the name: the user chose it, and the address may be somebody else's.
    const variables = { code, ...lifetimeOf(ttlSeconds), ...accountOf({ ...user, name: null }) }
    return mails.accept(transaction, {
      template: 'email-change',
      to: email,
      language: languageOf(user),
      variables,
      expiresAt,
    })
  }

  /** Needs a transaction that has locked the user. */
  return async (
    transaction: Transaction,
    user: GuardedUser,
    { email, begunUnder }: { email: string; begunUnder: string },
    audit: Pick<RequestAudit, 'write'>,
  ): Promise<void> => {
    const owner = await usersIn(transaction).findByLogin('email', email)
    const now = new Date(sharedNow())
    const { code, stored } = issueCode(secrets, { isDecoy: owner !== undefined, now, ttlSeconds })
    const changes = changesIn(transaction)
    // In this order: the earlier changes end before the new one is stored.
    await Promise.all([
      changes.endAll(user.userid, now),
      changes.insert({ ...stored, userid: user.userid, email, begunUnder }, now),
      acceptMail(transaction, { user, owner, email }, { code, expiresAt: stored.expiresAt }),
      audit.write(transaction, { name: 'email.change_requested', userid: user.userid }),
    ])
  }
}
