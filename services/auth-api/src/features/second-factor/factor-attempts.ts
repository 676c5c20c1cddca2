import type { User } from '@latchkey/shared/users/user.ts'
import type { LoginField } from '@latchkey/shared/users/user-repository.ts'
import { type RequestAudit, reportRefusal } from '../../audit/request-audit.ts'
import type { Client } from '../../http/client.ts'
import type { FactorPurpose, LimitFactors } from '../../limits/factor-limiter.ts'
import type { KnownAddresses } from '../../limits/known-addresses.ts'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import type { CountFactor } from '../health/service-metrics.ts'
import type { NotifyFailure } from '../login/notify-failures.ts'
import type { NotifyNewClient } from '../login/notify-new-client.ts'

export interface FactorAttemptsDependencies {
  limits: {
    accountKey: (account: string) => string
    limitFactors: LimitFactors
    knownAddresses: Pick<KnownAddresses, 'remember'>
  }
  notifyNewClient: NotifyNewClient
  /** Called for every factor that is refused after the right password, of which several cause a notice. */
  notifyFailedFactor: NotifyFailure
  count: CountFactor
  field: LoginField
}

/** An attempt of a user to show a factor. */
export interface FactorAttempt {
  userid: string
  purpose: FactorPurpose
  /** The `jti` of the challenge that it answers. */
  challenge?: string
  kind: Parameters<CountFactor>[0]
  /** Whether the right password came before. */
  followsPassword?: boolean
}

export type FactorAttempts = ReturnType<typeof createFactorAttempts>

/** Creates the functions that every attempt to show a factor passes, whatever its kind. */
export function createFactorAttempts(dependencies: FactorAttemptsDependencies) {
  const { limits, notifyNewClient, notifyFailedFactor, count, field } = dependencies

  /** Runs `work` within the limits; counts and reports its refusal. */
  function run<Result>(
    { request, audit }: Client,
    { kind, followsPassword, ...attempt }: FactorAttempt,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const refusal =
      kind === 'passkey'
        ? ({ code: 'passkey_refused', name: 'passkey.refused' } as const)
        : ({ code: 'second_factor_refused', name: 'second_factor.refused' } as const)
    const { userid } = attempt
    const report: RequestAudit['report'] = (event) => {
      audit.report(event)
      if (followsPassword) notifyFailedFactor({ account: limits.accountKey(userid), userid, audit })
    }
    const reported = () => reportRefusal({ report }, { ...refusal, userid }, work)
    return count(kind, limits.limitFactors(request, { ...attempt, isGuessable: kind === 'totp' }, reported))
  }

  return {
    run,

    /** Runs a login by a factor: mails about a new client, and remembers its address for logins by the password. */
    async logIn(
      client: Client,
      attempt: Omit<FactorAttempt, 'purpose'>,
      answer: () => Promise<{ user: User; issued: IssuedToken }>,
    ): Promise<IssuedToken> {
      const { user, issued } = await run(client, { ...attempt, purpose: 'login' }, answer)
      await notifyNewClient(user, client.audit)
      await limits.knownAddresses.remember(client.request, user[field] ?? user.userid)
      return issued
    },
  }
}
