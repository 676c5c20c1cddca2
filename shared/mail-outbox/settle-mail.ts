import { z } from 'zod'
import type { OutboxRepository } from './outbox-repository.ts'

export interface SettlementDependencies {
  outbox: Pick<OutboxRepository, 'has' | 'remove'>
  logger: { warn(details: object, message: string): void }
}

export interface Settlement {
  /** Whether the outbox no longer has it: it was sent, has expired or failed for good. Rejects without a database. */
  isSettled(id: string): Promise<boolean>
  /** Takes the mail out of the outbox; true when it was this call that did. Never rejects. */
  settle(id: string): Promise<boolean>
  /** Takes out what `settle` could not; rejects at the first that still cannot be. */
  settleRest(): Promise<void>
}

const isOutboxId = (id: string): boolean => z.uuid().safeParse(id).success

/**
 * What is over for a mail's row in the outbox. A database that is away must not make a sent mail a failed one: that
 * would send it again.
 */
export function createSettlement({ outbox, logger }: SettlementDependencies): Settlement {
  const rest = new Set<string>()
  return {
    // A job that somebody added by hand has no row, and is none the worse for it.
    isSettled: async (id) => isOutboxId(id) && !(await outbox.has(id)),
    async settle(id) {
      if (!isOutboxId(id)) return true
      try {
        return await outbox.remove(id)
      } catch (error) {
        rest.add(id)
        logger.warn({ err: error, mailId: id }, 'a mail that is over stays in the outbox for a while')
        return false
      }
    },
    async settleRest() {
      for (const id of rest) {
        await outbox.remove(id)
        rest.delete(id)
      }
    },
  }
}
