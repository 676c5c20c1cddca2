import { randomUUID } from 'node:crypto'
import type { AuditEventName } from '@latchkey/shared/audit/audit-events.ts'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import type { Database, Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import type { Mails } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import type { SendNotice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'

export interface NotifyFailuresDependencies {
  transaction: Database['transaction']
  usersIn: (transaction: Queryable) => Pick<UserRepository, 'lockAndFind'>
  notify: SendNotice
  mails: Pick<Mails, 'acceptDecoy'>
  logger: Pick<Logger, 'warn'>
  localNow: Clock
}

/** A kind of refusals of an account, with the notice and the event that tell of them. */
export interface FailureKind {
  template: 'failed-logins' | 'failed-factors'
  event: AuditEventName
  /** Refusals on one replica and within a day that cause a notice. */
  many: number
}

export const FAILED_LOGINS: FailureKind = {
  template: 'failed-logins',
  event: 'failed_logins.noticed',
  many: 20,
}
/** The refusals of second factors after the right password: a challenge takes as many. */
export const FAILED_FACTORS: FailureKind = {
  template: 'failed-factors',
  event: 'failed_factors.noticed',
  many: 5,
}

/** A refused attempt. */
export interface Failure {
  /** The key of the name that a login had, or of the user. */
  account: string
  /** Undefined where the name is unknown. */
  userid: string | undefined
  audit: Pick<RequestAudit, 'write' | 'address'>
}

export type NotifyFailure = (failed: Failure) => void

const DAY_MS = 24 * 60 * 60 * 1000
/** Accounts whose failures are counted; a flood of names pushes the oldest out. */
const MAX_ACCOUNTS = 10_000

/**
 * Creates the function that counts a refused attempt, and mails the user after many of them, at most once a day. It returns
 * at once and never throws. An unknown name causes the same statements and the same rows, but no mail: what a notice
 * costs must not reveal who has an account.
 */
export function createNotifyFailure(
  kind: FailureKind,
  { failedLogins }: Config['notices'],
  dependencies: NotifyFailuresDependencies,
): NotifyFailure {
  if (failedLogins !== 'on') return () => undefined
  const { transaction, usersIn, logger } = dependencies
  const counts = new LRUCache<string, number>({ max: MAX_ACCOUNTS, ttl: DAY_MS })

  const send = (failed: Failure): Promise<void> =>
    transaction(async (db) => {
      const userid = failed.userid ?? randomUUID()
      // Replicas take turns, and the second of them finds the event of the first.
      const user = await usersIn(db).lockAndFind(userid)
      await sendOnceADay(db, kind, { ...failed, userid }, user?.deletedAt ? undefined : user, dependencies)
    })

  return (failed) => {
    const count = (counts.get(failed.account) ?? 0) + 1
    counts.set(failed.account, count % kind.many, { noUpdateTTL: true })
    if (count < kind.many) return
    send(failed).catch((error) =>
      logger.warn({ err: error }, `the notice ${kind.template} could not be stored`),
    )
  }
}

async function sendOnceADay(
  db: Transaction,
  { template, event, many }: FailureKind,
  { userid, audit }: Failure & { userid: string },
  user: User | undefined,
  { notify, mails, localNow }: NotifyFailuresDependencies,
): Promise<void> {
  const { address } = audit
  const now = localNow()
  const dayAgo = new Date(now - DAY_MS)
  if (await createAuditRepository(db).hasSince(userid, event, dayAgo)) return
  await audit.write(db, { name: event, userid })
  if (user?.email) return notify(db, user, { template, count: many }, address)
  const variables = { at: new Date(now).toISOString(), address, count: many }
  await mails.acceptDecoy(db, { template, variables })
}
