import { type RequestAudit, reportRefusal } from '../../audit/request-audit.ts'
import type { Client } from '../../http/client.ts'
import type { FactorPurpose } from '../../limits/factor-limiter.ts'
import type { FactorTraits, SecondFactor } from './second-factor.ts'

const CODE_REFUSED = { code: 'second_factor_refused', name: 'second_factor.refused' } as const

/** An attempt of a user to show a factor. */
export interface FactorAttempt {
  userid: string
  purpose: FactorPurpose
  kind: FactorTraits
  /** The `jti` of the challenge that it answers. */
  challenge?: string | undefined
  /** True where the right password came before. */
  followsPassword?: boolean
}

/**
 * Runs an attempt to show a factor within the limits of the user, the client and the challenge; counts it, and reports its
 * refusal. Throws `rate_limited`, `challenge_refused`, `password_exposed`, and what `work` throws.
 */
export function limitAttempt<Result>(
  { accountKey, knownAddresses, limitFactors, guessTotal, notifyFailedFactor, count }: SecondFactor,
  client: Client,
  { kind, followsPassword = false, ...attempt }: FactorAttempt,
  work: () => Promise<Result>,
): Promise<Result> {
  const { audit } = client
  const { userid } = attempt
  const { name, isGuessable = false, refusal = CODE_REFUSED } = kind

  const report: RequestAudit['report'] = (event) => {
    audit.report(event)
    if (followsPassword) notifyFailedFactor({ account: accountKey(userid), userid, audit })
  }
  async function workWithinTotal(): Promise<Result> {
    const mayBeGuess = isGuessable && followsPassword && !(await knownAddresses.has(client, userid))
    return mayBeGuess ? guessTotal.limit(userid, audit.address, work) : work()
  }
  const limited = limitFactors(client, { ...attempt, isGuessable }, () =>
    reportRefusal({ report }, { ...refusal, userid }, workWithinTotal),
  )
  return count(name, limited)
}
