import type { OutboxRepository } from '@latchkey/shared/mail-outbox/outbox-repository.ts'
import { rootReason } from '@latchkey/shared/root-reason.ts'
import { z } from 'zod'

export interface SettlementDependencies {
  outbox: Pick<OutboxRepository, 'has' | 'remove'>
  logger: { warn(details: object, message: string): void }
}

export interface Settlement {
  /** Whether the mail has left the outbox: sent, expired or failed permanently. Rejects without a database. */
  isSettled(id: string): Promise<boolean>
  /** Deletes the mail's row; true for the one call that deletes it. Never rejects. */
  settle(id: string): Promise<boolean>
  /** Deletes the rows that `settle` could not; rejects at the first failure. */
  settlePending(): Promise<void>
}

const OutboxId = z.uuid()
const isOutboxId = (id: string): boolean => OutboxId.safeParse(id).success

/**
 * Ends the life of a mail's row in the outbox. An unavailable database must not make a sent mail a failed one, which
 * would send it again.
 */
export function createSettlement({ outbox, logger }: SettlementDependencies): Settlement {
  const pending = new Set<string>()
  return {
    // A job that was added by hand has no row, and is sent all the same.
    isSettled: async (id) => isOutboxId(id) && !(await outbox.has(id)),
    async settle(id) {
      if (!isOutboxId(id)) return true
      try {
        return await outbox.remove(id)
      } catch (error) {
        pending.add(id)
        logger.warn(
          { reason: rootReason(error), mailId: id },
          'deleting the outbox row of a settled mail failed; it is tried again',
        )
        return false
      }
    },
    async settlePending() {
      for (const id of pending) {
        await outbox.remove(id)
        pending.delete(id)
      }
    },
  }
}
