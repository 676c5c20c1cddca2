import type { Queryable, SqlValue, Statement } from '../database/database.ts'

/** Each statement stays far below its time limit. */
const BATCH_SIZE = 1_000

/** The events whose `reason` an admin wrote. */
const WRITTEN_BY_ADMINS = "'factors.removed', 'account.banned'"

const FIND: Statement = {
  name: 'audit-persons',
  text: `select id from expired_audit_person limit ${BATCH_SIZE}`,
}
const forgetAll = (condition: string): string => `update expired_audit_person
  set userid = null, address = null, request_id = null,
    reason = case when name in (${WRITTEN_BY_ADMINS}) then null else reason end
  where ${condition}`
const FORGET: Statement = {
  name: 'audit-forget-persons',
  text: { postgres: forgetAll('id = any($1)'), mysql: forgetAll('id in ($1)') },
}

/** Takes the person out of the events of erased users, through the view of these events. Ends early when `signal` is aborted. */
export async function forgetPersons(
  db: Pick<Queryable, 'query' | 'execute'>,
  signal: AbortSignal,
): Promise<void> {
  let found: { id: SqlValue }[]
  do {
    found = await db.query<{ id: SqlValue }>(FIND)
    if (found.length > 0) await db.execute(FORGET, [found.map(({ id }) => id)])
  } while (found.length === BATCH_SIZE && !signal.aborted)
}
