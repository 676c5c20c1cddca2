import { randomUUID } from 'node:crypto'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import type { Mails } from '@latchkey/shared/mail-outbox/accept-mail.ts'
import type { SendNotice } from '@latchkey/shared/mail-outbox/mail-notices.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import type { RequestAudit } from '../../audit/request-audit.ts'

export interface NotifyFailedLoginsDependencies {
  transaction: Database['transaction']
  usersIn: (transaction: Queryable) => Pick<UserRepository, 'lockAndFind'>
  notify: SendNotice
  mails: Pick<Mails, 'acceptDecoy'>
  logger: Pick<Logger, 'warn'>
  clock: Clock
}

/** A refused login. */
export interface FailedLogin {
  /** The key of the name that the login had. */
  account: string
  /** Undefined where the name is unknown. */
  userid: string | undefined
  audit: Pick<RequestAudit, 'write' | 'address'>
}

export type NotifyFailedLogins = (failed: FailedLogin) => void

/** Refused logins of an account, on one replica and within a day, that cause a notice. */
const MANY_FAILED_LOGINS = 20
const DAY_MS = 24 * 60 * 60 * 1000
/** Accounts whose failures are counted; a flood of names pushes the oldest out. */
const MAX_ACCOUNTS = 10_000

/**
 * Creates the function that counts a refused login, and mails the user after many of them, at most once a day. It returns
 * at once and never throws. An unknown name causes the same statements and the same rows, but no mail: what a notice
 * costs must not reveal who has an account.
 */
export function createNotifyFailedLogins(dependencies: NotifyFailedLoginsDependencies): NotifyFailedLogins {
  const { transaction, usersIn, logger } = dependencies
  const counts = new LRUCache<string, number>({ max: MAX_ACCOUNTS, ttl: DAY_MS })

  const send = (failed: FailedLogin): Promise<void> =>
    transaction(async (db) => {
      const userid = failed.userid ?? randomUUID()
      // Replicas take turns, and the second of them finds the event of the first.
      const user = await usersIn(db).lockAndFind(userid)
      await sendOnceADay(db, { ...failed, userid }, user?.deletedAt ? undefined : user, dependencies)
    })

  return (failed) => {
    const count = (counts.get(failed.account) ?? 0) + 1
    counts.set(failed.account, count % MANY_FAILED_LOGINS, { noUpdateTTL: true })
    if (count < MANY_FAILED_LOGINS) return
    send(failed).catch((error) =>
      logger.warn({ err: error }, 'a notice of failed logins could not be stored'),
    )
  }
}

async function sendOnceADay(
  db: Transaction,
  { userid, audit }: FailedLogin & { userid: string },
  user: User | undefined,
  { notify, mails, clock }: NotifyFailedLoginsDependencies,
): Promise<void> {
  const { address } = audit
  const now = clock()
  const dayAgo = new Date(now - DAY_MS)
  if (await createAuditRepository(db).hasSince(userid, 'failed_logins.noticed', dayAgo)) return
  await audit.write(db, { name: 'failed_logins.noticed', userid })
  if (user?.email) return notify(db, user, { template: 'failed-logins', count: MANY_FAILED_LOGINS }, address)
  const variables = { at: new Date(now).toISOString(), address, count: MANY_FAILED_LOGINS }
  await mails.acceptDecoy(db, { template: 'failed-logins', variables })
}
