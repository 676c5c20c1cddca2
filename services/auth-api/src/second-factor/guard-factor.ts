import type { User } from '@latchkey/shared/users/user.ts'
import type { LoginField } from '@latchkey/shared/users/user-repository.ts'
import { type RequestAudit, reportRefusal } from '../audit/request-audit.ts'
import type { LimitFactors } from '../limits/factor-limiter.ts'
import type { KnownClients } from '../limits/known-clients.ts'
import type { LimitedRequest } from '../limits/limit-keys.ts'
import type { NotifyNewClient } from '../notify-new-client.ts'
import type { Caller } from '../tokens/claims.ts'
import type { IssuedToken } from '../tokens/issue-token.ts'
import type { SecondFactor } from './second-factor.ts'

/** The sender of a factor. */
export interface FactorClient {
  /** What the limits read of the request. */
  request: LimitedRequest
  audit: RequestAudit
}

/** The sender of a factor who has a token. */
export type LoggedInClient = FactorClient & Caller

export interface FactorGuardDependencies {
  limits: { limitFactors: LimitFactors; knownClients: Pick<KnownClients, 'remember'> }
  notifyNewClient: NotifyNewClient
  count: SecondFactor['count']
  field: LoginField
}

/** An attempt of a user to show a factor. */
export interface FactorAttempt {
  userid: string
  /** The `jti` of the challenge that it answers. */
  challenge?: string
  kind: Parameters<SecondFactor['count']>[0]
}

export type FactorGuard = ReturnType<typeof createFactorGuard>

/** Creates what every attempt to show a factor passes, whatever its kind. */
export function createFactorGuard(dependencies: FactorGuardDependencies) {
  const { limits, notifyNewClient, count, field } = dependencies

  /** Runs `work` within the limits; counts and reports its refusal. */
  function run<Result>(
    { request, audit }: FactorClient,
    { kind, userid, challenge }: FactorAttempt,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const refusal =
      kind === 'passkey'
        ? ({ code: 'passkey_refused', name: 'passkey.refused' } as const)
        : ({ code: 'second_factor_refused', name: 'second_factor.refused' } as const)
    const reported = () => reportRefusal(audit, { ...refusal, userid }, work)
    const attempt = { userid, challenge, isGuessable: kind === 'totp' }
    return count(kind, limits.limitFactors(request, attempt, reported))
  }

  return {
    run,

    /** Runs a login by a factor: mails about a new client, and remembers the client for logins by the password. */
    async logIn(
      client: FactorClient,
      attempt: FactorAttempt,
      answer: () => Promise<{ user: User; issued: IssuedToken }>,
    ): Promise<IssuedToken> {
      const { user, issued } = await run(client, attempt, answer)
      await notifyNewClient(user, client.audit)
      await limits.knownClients.remember(client.request, user[field] ?? user.userid)
      return issued
    },
  }
}
