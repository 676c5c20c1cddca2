import { randomUUID } from 'node:crypto'
import type { Transaction } from '@latchkey/shared/database/database.ts'
import { accountOf } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import { createResetRepository } from '@latchkey/shared/users/reset-repository.ts'
import { fold, languageOf, type User } from '@latchkey/shared/users/user.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { Client } from '../../http/client.ts'
import { roundUpDuration } from '../../limits/round-up-duration.ts'
import { issueCode, lifetimeOf } from '../one-time-codes/issue-code.ts'

type RequestResetCore = Pick<
  Core,
  'limitResets' | 'users' | 'transaction' | 'mails' | 'mailLink' | 'codeSecrets' | 'sharedNow'
>

/**
 * Begins a reset for `email` and accepts its mail; returns the reset's token. An unknown e-mail and a deleted user cause
 * the same work and the same rows, but no mail. The mail goes to the address in the user's row, not to `email`. Throws
 * `rate_limited`.
 */
export function createRequestReset(core: RequestResetCore, { ttlSeconds }: Config['reset']) {
  const { limitResets, users, transaction, mails, mailLink, sharedNow } = core
  const secrets = core.codeSecrets.reset

  async function findUser(email: string): Promise<User | undefined> {
    const user = await users.findByLogin('email', email)
    return user?.deletedAt ? undefined : user
  }

  function acceptMail(
    db: Transaction,
    user: User | undefined,
    { code, email, expiresAt }: { code: string; email: string; expiresAt: Date },
  ): Promise<string> {
    const link = mailLink('reset', { email, code })
    const mail = {
      template: 'password-reset',
      variables: { code, link, ...lifetimeOf(ttlSeconds), ...accountOf(user ?? { name: '', email }) },
    } as const
    if (!user?.email) return mails.acceptDecoy(db, mail)
    return mails.accept(db, { ...mail, to: user.email, language: languageOf(user), expiresAt })
  }

  async function store(email: string, audit: Pick<RequestAudit, 'report'>): Promise<string> {
    const user = await findUser(email)
    const now = new Date(sharedNow())
    const { code, stored } = issueCode(secrets, { isDecoy: !user, now, ttlSeconds })
    const { id, expiresAt } = stored
    const token = secrets.generateToken()
    const reset = {
      ...stored,
      userid: user?.userid ?? randomUUID(),
      email: fold(email),
      tokenHash: secrets.hash(id, token),
    }
    await transaction((db) =>
      Promise.all([
        createResetRepository(db).insert(reset, now),
        acceptMail(db, user, { code, email, expiresAt }),
      ]),
    )
    audit.report({ name: 'reset.requested', userid: user?.userid })
    return token
  }

  return async (email: string, client: Client): Promise<string> => {
    await limitResets(client, email)
    // Neither the answer nor its time shows whether the e-mail is known.
    return roundUpDuration(() => store(email, client.audit))
  }
}
