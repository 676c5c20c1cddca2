import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { Claims } from '../../tokens/claims.ts'
import { withoutFactors } from '../../tokens/current-amr.ts'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import { MULTI_FACTOR } from '../../tokens/require-login.ts'
import type { Challenge } from './challenges.ts'
import { limitAttempt } from './factor-attempts.ts'
import type { FactorTraits, SecondFactor, VerifyFactor } from './second-factor.ts'

export interface FactorStepUp {
  kind: FactorTraits
  verify: VerifyFactor
  /** Absent for a code, which needs none. */
  challenge?: Challenge
}

/**
 * Exchanges a token for one of the same session that says that the user has shown a factor now. Throws `invalid_token`, and what
 * `limitAttempt` and `verify` throw.
 */
export function verifyStepUp(
  secondFactor: SecondFactor,
  { kind, verify, challenge }: FactorStepUp,
  client: LoggedInClient,
): Promise<IssuedToken> {
  const { claims, audit } = client
  const attempt = { userid: claims.sub, purpose: 'stepUp', kind, challenge: challenge?.jti } as const
  return limitAttempt(secondFactor, client, attempt, async () => {
    const { transaction, lockUser, issueToken, challenges, localNow } = secondFactor
    const readAt = toNumericDate(localNow())
    const [user, amr] = await transaction(async (db) => {
      const user = await lockUser(db, claims)
      if (challenge) await challenges.use(db, user, challenge)
      return [user, await verify(db, user)] as const
    })
    audit.report({ name: 'token.stepped_up', userid: user.userid })
    return issueToken(user, readAt, audit, sessionWithFactor(claims, readAt, amr))
  })
}

/** Returns the session of a token after its user has shown a factor, and no other one. */
export const sessionWithFactor = ({ sid, amr = ['pwd'] }: Claims, readAt: number, by: readonly string[]) => ({
  sid,
  authTime: readAt,
  amr: [...withoutFactors(amr), ...by, MULTI_FACTOR],
})
