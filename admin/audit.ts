import { createAuditRepository, type StoredEvent } from '@latchkey/shared/audit/audit-repository.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { getAccount } from './accounts/get-account.ts'
import { withAdminContext } from './admin-context.ts'
import { formatTable } from './console/format-table.ts'
import { parseWholeNumber } from './fault.ts'

const MAX_SHOWN = 10_000

/** The audit trail in the database at DATABASE_URL: what happened to an account, and from where. */
export class Audit {
  /** Shows the newest events of a user, the newest last. A login is a username, an e-mail or a userid. */
  async tail(login: string, limit = '20'): Promise<void> {
    const max = parseWholeNumber('limit', limit, 1, MAX_SHOWN)
    const events = await withAdminContext(async ({ db }) => {
      const { userid } = await getAccount(createUserRepository(db), login)
      return createAuditRepository(db).findNewest(userid, max)
    })
    console.log(
      events.length > 0 ? describeEvents(events.toReversed()) : 'No event of this user is recorded.',
    )
  }
}

const describeEvents = (events: readonly StoredEvent[]): string =>
  formatTable(
    ['time', 'event', 'count', 'address', 'reason', 'request'],
    events.map(({ at, name, count, address = '', reason = '', requestId = '' }) => [
      at.toISOString(),
      name,
      String(count),
      address,
      reason,
      requestId,
    ]),
  )
