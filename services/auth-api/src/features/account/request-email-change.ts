import type { Transaction } from '@latchkey/shared/database/database.ts'
import { accountOf } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import { createEmailChangeRepository } from '@latchkey/shared/users/email-change-repository.ts'
import { languageOf, type User } from '@latchkey/shared/users/user.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { issueCode, lifetimeOf } from '../one-time-codes/issue-code.ts'
import { tellOwner } from '../one-time-codes/tell-owner.ts'
import type { GuardedUser } from './account-guard.ts'

type RequestEmailChangeCore = Pick<Core, 'usersIn' | 'mails' | 'mailLink' | 'codeSecrets' | 'sharedNow'>

/**
 * Creates the function that mails a code to the new address of a user, and ends the earlier changes. An address that another
 * user has causes the same work and the same rows: its owner gets a mail that says so, and no code confirms the change.
 */
export function createRequestEmailChange(core: RequestEmailChangeCore, { ttlSeconds }: Config['reset']) {
  const { usersIn, mails, mailLink, sharedNow } = core
  const secrets = core.codeSecrets.email

  function acceptMail(
    transaction: Transaction,
    { user, owner, email }: { user: User; owner: User | undefined; email: string },
    { code, expiresAt }: { code: string; expiresAt: Date },
  ): Promise<string> {
    if (owner) return tellOwner(mails, transaction, owner, { template: 'email-in-use', expiresAt })
    // The mail does not contain the name: the user chose it, and the address may be somebody else's.
    const link = mailLink('email', { code })
    const variables = { code, link, ...lifetimeOf(ttlSeconds), ...accountOf({ ...user, name: null }) }
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
    const changes = createEmailChangeRepository(transaction)
    // The earlier changes end before the new one is stored.
    await Promise.all([
      changes.endAll(user.userid, now),
      changes.insert({ ...stored, userid: user.userid, email, begunUnder }, now),
      acceptMail(transaction, { user, owner, email }, { code, expiresAt: stored.expiresAt }),
      audit.write(transaction, { name: 'email.change_requested', userid: user.userid }),
    ])
  }
}
