import type { DependencyFailures } from '@latchkey/shared/health/dependency-failures.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import type { Logger } from 'pino'
import type { Claims } from './claims.ts'
import { pairOf } from './refresh-token.ts'
import { type RevocationRepository, sessionIdOf, type TokenStatus } from './revocation-repository.ts'

/** The time for which a token is still accepted once its successor was used: for late answers, and for a second tab. */
export const GRACE_MS = 10_000

/** True where the grace of a token is over: its successor was used before. */
export const isReplaced = ({ replacedFrom }: Pick<TokenStatus, 'replacedFrom'>, now: number): boolean =>
  replacedFrom !== undefined && now >= replacedFrom.getTime()

/** Records that a token was used, which ends what it was refreshed from after its grace. Never throws. */
export type RecordUse = (
  claims: Claims,
  status: Pick<TokenStatus, 'predecessorUntil' | 'unusedRefreshHash'>,
) => Promise<void>

export interface RecordUseDependencies {
  revocations: Pick<RevocationRepository, 'endPredecessor' | 'recordRefreshUse'>
  failures: Pick<DependencyFailures, 'reportNamed'>
  logger: Pick<Logger, 'warn'>
  /** The clock of the database, by which other replicas compare the end of the grace. */
  sharedNow: Clock
}

/** Creates the function that records the first use of a token's pair, with one statement for each pair. */
export const createRecordUse =
  ({ revocations, failures, logger, sharedNow }: RecordUseDependencies): RecordUse =>
  async (claims, { predecessorUntil, unusedRefreshHash }) => {
    const now = sharedNow()
    const end = new Date(now + GRACE_MS)
    const isFirstUse = unusedRefreshHash !== undefined && pairOf(unusedRefreshHash) === claims.jti
    try {
      if (predecessorUntil !== undefined && end < predecessorUntil)
        await revocations.endPredecessor(claims, end)
      if (isFirstUse)
        await revocations.recordRefreshUse(sessionIdOf(claims), unusedRefreshHash, new Date(now))
    } catch (error) {
      // The next read of the token's status tries again: a database that cannot be written refuses no request that reads.
      if (!failures.reportNamed(error))
        logger.warn(
          { err: error },
          'the first use of a token could not be stored; its next use will try again',
        )
    }
  }
