import { rootReason } from '@latchkey/shared/root-reason.ts'
import type { FastifyBaseLogger } from 'fastify'

/** How long Redis is not used after a failure: a hanging one would otherwise delay every request. */
const PAUSE_MS = 1_000

export type RedisPause = ReturnType<typeof createRedisPause>

/** Runs what needs Redis unless that has just failed, and logs when it fails first and when it works again. */
export function createRedisPause(logger: Pick<FastifyBaseLogger, 'info' | 'warn'>) {
  let pausedUntil = 0

  /** Undefined while Redis is unavailable or slow. */
  return async <Result>(work: () => Promise<Result>): Promise<Result | undefined> => {
    if (Date.now() < pausedUntil) return undefined
    try {
      const result = await work()
      if (pausedUntil > 0) logger.info('limits are counted in Redis again')
      pausedUntil = 0
      return result
    } catch (error) {
      if (pausedUntil === 0)
        logger.warn(
          { reason: rootReason(error) },
          'Redis is unavailable or slow: this process counts limits on its own',
        )
      pausedUntil = Date.now() + PAUSE_MS
      return undefined
    }
  }
}
