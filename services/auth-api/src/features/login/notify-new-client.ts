import { hash } from 'node:crypto'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { maskNetwork, type SendNotice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { findProperty, INTERNAL_PROPERTY_PREFIX, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { Logger } from 'pino'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'

export interface NotifyNewClientDependencies {
  transaction: Database['transaction']
  usersIn: (transaction: Queryable) => Pick<UserRepository, 'lockAndFind' | 'setProperty'>
  notify: SendNotice
  logger: Pick<Logger, 'warn'>
  localNow: Clock
}

/** Receives a login that succeeds: the user, as read for it, and the request. Never throws. */
export type NotifyNewClient = (user: User, audit: RequestAudit) => Promise<void>

const KNOWN_CLIENTS_PROPERTY = `${INTERNAL_PROPERTY_PREFIX}known_clients`
/** A property has room for this many. The one that was added first is forgotten first. */
const MAX_CLIENTS = 25
const HOUR_MS = 60 * 60 * 1000

/**
 * Creates the function that mails a user about a login from a new client, at most once an hour. A client is the start of its
 * address and its User-Agent without numbers, so that a new version of a browser is not a new client. The first client is
 * remembered without a mail: nobody knows whether it is new. A login of a known client costs no statement.
 *
 * It does not use `limits/known-addresses.ts`: those addresses end with their Redis, and each would then cause a mail again.
 */
export function createNotifyNewClient(
  { newClient }: Config['notices'],
  dependencies: NotifyNewClientDependencies,
): NotifyNewClient {
  if (newClient !== 'on') return async () => undefined
  const { transaction, usersIn, notify, logger, localNow } = dependencies

  const remember = ({ userid }: User, client: string, audit: RequestAudit): Promise<void> =>
    transaction(async (db) => {
      const users = usersIn(db)
      // Concurrent logins take turns: the second finds what the first has stored.
      const user = await users.lockAndFind(userid)
      const known = user ? knownClientsOf(user) : []
      if (!user || known.includes(client)) return
      const hourAgo = new Date(localNow() - HOUR_MS)
      if (await createAuditRepository(db).hasSince(userid, 'new_client.noticed', hourAgo)) return
      const remembered = [...known, client].slice(-MAX_CLIENTS)
      await users.setProperty(userid, KNOWN_CLIENTS_PROPERTY, remembered.join(' '))
      if (known.length === 0) return
      await audit.write(db, { name: 'new_client.noticed', userid })
      await notify(db, user, { template: 'new-client' }, audit.address)
    })

  return async (user, audit) => {
    const client = clientOf(user, audit)
    if (knownClientsOf(user).includes(client)) return
    await remember(user, client, audit).catch((error: unknown) =>
      logger.warn(
        { err: error },
        'a notice of a new client could not be stored; its next login will try again',
      ),
    )
  }
}

const knownClientsOf = (user: User): string[] =>
  (findProperty(user, KNOWN_CLIENTS_PROPERTY) ?? '').split(' ').filter(Boolean)

/** Short, because many have to fit into a property, and different for each user. */
const clientOf = ({ userid }: User, { address, agent }: RequestAudit): string =>
  hash('sha256', `${userid} ${maskNetwork(address)} ${agent.replace(/\d+/g, '')}`, 'base64url').slice(0, 8)
