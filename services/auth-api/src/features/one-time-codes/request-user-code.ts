import { randomUUID } from 'node:crypto'
import type { AuditEventName } from '@latchkey/shared/audit/audit-events.ts'
import type { Transaction } from '@latchkey/shared/database/database.ts'
import { accountOf } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import type { StoredCode } from '@latchkey/shared/users/code-repository.ts'
import { fold, languageOf, type User } from '@latchkey/shared/users/user.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Core } from '../../core.ts'
import type { Client } from '../../http/client.ts'
import type { LimitMail } from '../../limits/mail-limiter.ts'
import { roundUpDuration } from '../../limits/round-up-duration.ts'
import type { CodeSecrets } from './code-secrets.ts'
import { issueCode, lifetimeOf } from './issue-code.ts'

type RequestUserCodeCore = Pick<Core, 'users' | 'transaction' | 'mails' | 'sharedNow'>

/** The row of a code for a user's mailbox. */
export interface UserCode extends StoredCode {
  /** The user's id; a random one for an unknown e-mail. */
  userid: string
  /** The e-mail, folded. */
  email: string
  tokenHash: string
}

export interface UserCodeKind {
  template: 'password-reset' | 'login-code'
  event: AuditEventName
  secrets: Pick<CodeSecrets, 'generateCode' | 'generateToken' | 'hash' | 'unmatchableHash'>
  limit: LimitMail
  ttlSeconds: number
  insert: (transaction: Transaction, code: UserCode, now: Date) => Promise<void>
  /** Returns the link of the mail. */
  linkTo: (code: { id: string; email: string; code: string }) => string | undefined
}

/**
 * Creates the function that mails a code to the user who has an e-mail; it returns the token of the request. An unknown e-mail and
 * a deleted user cause the same work and the same rows, but no mail. The mail goes to the address in the user's row, not to the
 * given one. Throws `rate_limited`.
 */
export function createRequestUserCode(core: RequestUserCodeCore, kind: UserCodeKind) {
  const { users, transaction, mails, sharedNow } = core
  const { secrets, ttlSeconds } = kind

  async function findUser(email: string): Promise<User | undefined> {
    const user = await users.findByLogin('email', email)
    return user?.deletedAt ? undefined : user
  }

  function acceptMail(
    db: Transaction,
    user: User | undefined,
    { id, code, email, expiresAt }: { id: string; code: string; email: string; expiresAt: Date },
  ): Promise<string> {
    const link = kind.linkTo({ id, email, code })
    const account = accountOf(user ?? { name: '', email })
    const mail = { template: kind.template, variables: { code, link, ...lifetimeOf(ttlSeconds), ...account } }
    if (!user?.email) return mails.acceptDecoy(db, mail)
    return mails.accept(db, { ...mail, to: user.email, language: languageOf(user), expiresAt })
  }

  async function store(email: string, audit: Pick<RequestAudit, 'report'>): Promise<string> {
    const user = await findUser(email)
    const now = new Date(sharedNow())
    const { code, stored } = issueCode(secrets, { isDecoy: !user, now, ttlSeconds })
    const token = secrets.generateToken()
    const row = {
      ...stored,
      userid: user?.userid ?? randomUUID(),
      email: fold(email),
      tokenHash: secrets.hash(stored.id, token),
    }
    await transaction((db) =>
      Promise.all([kind.insert(db, row, now), acceptMail(db, user, { ...stored, code, email })]),
    )
    audit.report({ name: kind.event, userid: user?.userid })
    return token
  }

  return async (email: string, client: Client): Promise<string> => {
    await kind.limit(client, email)
    // Neither the answer nor its time shows whether the e-mail is known.
    return roundUpDuration(() => store(email, client.audit))
  }
}
