import { rootReason } from '../../errors/root-reason.ts'
import type { Check } from '../../health/readiness.ts'
import type { MailQueue } from './mail-queue.ts'

/** The answers of a Redis that can be reached and does not work: its disk or its memory is full, or the login lacks a right. */
const REFUSAL = /^(MISCONF|OOM|NOPERM)\b/

/** Checks that the queue takes mail, and that Redis forgets none when its memory is full. */
export const checkQueue =
  (queue: Pick<MailQueue, 'ping'> & Partial<Pick<MailQueue, 'memory'>>): Check =>
  async () => {
    try {
      await queue.ping()
    } catch (error) {
      const { message = '', cause } = error as Error
      const answer = cause instanceof Error ? cause.message : message
      if (!REFUSAL.test(answer)) throw error
      return { outcome: 'refuses mail', reason: rootReason(error) }
    }
    // A login without the right to INFO cannot tell.
    const policy = (await queue.memory?.().catch(() => undefined))?.eviction
    if (policy === undefined) return 'ok'
    const reason = `maxmemory-policy is ${policy}: Redis loses mail and limits when it is full; set noeviction`
    return { outcome: 'evicts keys', reason, isServing: true }
  }
