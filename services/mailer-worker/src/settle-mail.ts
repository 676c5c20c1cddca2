import { rootReason } from '@latchkey/shared/errors/root-reason.ts'
import type { OutboxRepository } from '@latchkey/shared/mail/outbox/outbox-repository.ts'
import { z } from 'zod'

export interface SettlementDependencies {
  outbox: Pick<OutboxRepository, 'has' | 'remove' | 'markFailed'>
  logger: { warn(details: object, message: string): void }
}

export interface Settlement {
  /** True where the mail has left the outbox: sent or expired. Rejects without a database. */
  isSettled(id: string): Promise<boolean>
  /** True where the mail waits in the outbox of this installation. Rejects without a database. */
  isPending(id: string): Promise<boolean>
  /** Deletes the mail's row; true for the one call that deletes it. Never rejects. */
  settle(id: string): Promise<boolean>
  /** Keeps the row of a mail that failed permanently, so that an admin can have it sent. Never rejects. */
  keepFailed(id: string): Promise<void>
  /** Does what `settle` and `keepFailed` could not; rejects at the first failure. */
  settlePending(): Promise<void>
}

const OutboxId = z.uuid()
const isOutboxId = (id: string): boolean => OutboxId.safeParse(id).success

/**
 * Ends the life of a mail's row in the outbox. An unavailable database must not make a sent mail a failed one, which
 * would send it again.
 */
export function createSettlement({ outbox, logger }: SettlementDependencies): Settlement {
  const pending = new Map<string, () => Promise<unknown>>()

  async function attempt<Result>(id: string, change: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await change()
    } catch (error) {
      pending.set(id, change)
      logger.warn(
        { reason: rootReason(error), mailId: id },
        'changing the outbox row of a settled mail failed; it is tried again',
      )
      return undefined
    }
  }

  return {
    // A job that was added by hand has no row, and is sent all the same.
    isPending: async (id) => isOutboxId(id) && (await outbox.has(id)),
    isSettled: async (id) => isOutboxId(id) && !(await outbox.has(id)),
    settle: async (id) => !isOutboxId(id) || ((await attempt(id, () => outbox.remove(id))) ?? false),
    async keepFailed(id) {
      if (isOutboxId(id)) await attempt(id, () => outbox.markFailed(id))
    },
    async settlePending() {
      for (const [id, change] of pending) {
        await change()
        pending.delete(id)
      }
    },
  }
}
