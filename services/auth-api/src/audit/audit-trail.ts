import type { AuditEvent, AuditEventName } from '@latchkey/shared/audit/audit-events.ts'
import { createAuditRepository, type DatedEvent } from '@latchkey/shared/audit/audit-repository.ts'
import type { Database, Transaction } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { createEventCounts } from './event-counts.ts'

export interface AuditTrail {
  /**
   * Records an event: a log line at once, and a row within about a second. The first of equal events in a minute is recorded
   * at once, the others together at its end. Returns at once and never throws.
   */
  report(event: AuditEvent): void
  /** Records an event in its transaction: the row with it, the log line after it. */
  write(transaction: Transaction, event: AuditEvent): Promise<void>
  /** Records what is counted and not recorded yet. */
  close(): Promise<void>
}

export interface AuditTrailDependencies {
  db: Pick<Database, 'transaction'>
  logger: Pick<Logger, 'info' | 'warn'>
  registry: Registry
  localNow: Clock
  /** Time between two writes, in milliseconds. Default 1,000. */
  flushMs?: number
  /**
   * Length of a window, in milliseconds. Default 60,000. The first of equal events is written at once, the others at the end of
   * the window as one row.
   */
  windowMs?: number
}

const FLUSH_MS = 1_000
const WINDOW_MS = 60_000
/** Rows that wait for the database. More of them are dropped: their log lines exist. */
const MAX_WAITING = 10_000
/** Rows of one transaction. */
const MAX_BATCH = 512

/** Events that deserve attention at once: their log lines are warnings. */
const WARNINGS: ReadonlySet<AuditEventName> = new Set(['token.reused', 'passkey.copied'])

/**
 * Opens the audit trail. No request waits for it, and a flood of refusals fills neither the memory nor the disk: equal
 * events of a minute become two rows at most, and the different ones of a minute are limited too.
 */
export function openAuditTrail(dependencies: AuditTrailDependencies): AuditTrail {
  const { logger, localNow, flushMs = FLUSH_MS, windowMs = WINDOW_MS } = dependencies
  const store = createStore(dependencies)
  const counts = createEventCounts()
  let windowEnd = performance.now() + windowMs

  function log({ name, userid, address, requestId, reason, count }: AuditEvent): void {
    // `reqId` is the name that the other lines of a request have for it.
    const fields = { userid, address, reqId: requestId, reason, count }
    logger[WARNINGS.has(name) ? 'warn' : 'info'](fields, name)
  }

  function record(event: AuditEvent): void {
    log(event)
    store.add({ ...event, at: new Date(localNow()) })
  }

  async function tick(): Promise<void> {
    if (performance.now() >= windowEnd) {
      windowEnd = performance.now() + windowMs
      counts.end().forEach(record)
    }
    await store.flush()
  }

  const timer = setInterval(() => void tick(), flushMs).unref()
  return {
    report(event) {
      const recorded = counts.count(event)
      if (recorded) record(recorded)
    },
    async write(transaction, event) {
      await createAuditRepository(transaction).insert([{ ...event, at: new Date(localNow()) }])
      transaction.afterCommit(() => log(event))
    },
    async close() {
      clearInterval(timer)
      counts.end().forEach(record)
      await store.end()
    },
  }
}

/** Creates the store of the rows that are not in the database yet. */
function createStore({ db, logger, registry }: AuditTrailDependencies) {
  const dropped = new Counter({
    name: 'latchkey_audit_dropped_total',
    help: 'Events of the audit trail that are in the log only: the database refused them, or was unavailable too long',
    registers: [registry],
  })
  const waiting: DatedEvent[] = []
  let flushing: Promise<void> | undefined
  let isFailing = false

  async function storeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, MAX_BATCH)
      if (!(await storeBatch(batch))) return
      waiting.splice(0, batch.length)
    }
  }

  /** Stores a batch; returns false when it has to be tried again. */
  async function storeBatch(batch: readonly DatedEvent[]): Promise<boolean> {
    try {
      // Together: what is tried again must not be stored twice.
      await db.transaction((transaction) => createAuditRepository(transaction).insert(batch))
      isFailing = false
      return true
    } catch (error) {
      if (!isFailing) logger.warn({ err: error }, 'storing the audit trail failed; it is in this log')
      isFailing = true
      if (error instanceof AppError && error.code === 'unavailable') return false
      dropped.inc(batch.length)
      return true
    }
  }

  return {
    add(event: DatedEvent): void {
      if (waiting.length < MAX_WAITING) waiting.push(event)
      else dropped.inc()
    },
    /** Stores what waits. There is one flush at a time: a database that hangs is asked once. */
    flush(): Promise<void> {
      flushing ??= storeAll().finally(() => {
        flushing = undefined
      })
      return flushing
    },
    async end(): Promise<void> {
      await flushing
      await storeAll()
    },
  }
}
