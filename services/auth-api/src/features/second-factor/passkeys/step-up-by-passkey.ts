import type { Queryable } from '@latchkey/shared/database/database.ts'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { LoggedInClient } from '../../../http/client.ts'
import type { Caller } from '../../../tokens/claims.ts'
import type { IssuedToken } from '../../../tokens/issue-token.ts'
import type { GetTokenUser } from '../../../tokens/token-validity.ts'
import type { AccountGuard } from '../../account/account-guard.ts'
import type { SecondFactor } from '../second-factor.ts'
import { type RelyingParty, readSignedChallenge } from './passkey.ts'
import type { PasskeyOptions } from './passkey-options.ts'
import type { VerifyPasskey } from './verify-passkey.ts'

export interface StepUpByPasskeyDependencies {
  party: RelyingParty
  db: Queryable
  getTokenUser: GetTokenUser
  guard: Pick<AccountGuard, 'describe'>
  secondFactor: Pick<SecondFactor, 'challenges' | 'stepUp' | 'factorAttempts'>
  toOptions: PasskeyOptions
  verifyPasskey: VerifyPasskey
}

/** Creates the functions that step up a token by a passkey of its user. */
export function createStepUpByPasskey(dependencies: StepUpByPasskeyDependencies) {
  const { party, db, getTokenUser, guard, secondFactor, toOptions, verifyPasskey } = dependencies
  const { challenges, factorAttempts } = secondFactor

  return {
    /** Returns the options for a passkey of the user. Throws `invalid_token`, and `passkey_refused` for a user without one. */
    async options({ claims }: Caller) {
      const user = await getTokenUser(db, claims)
      const begunUnder = await guard.describe(user)
      return toOptions(await challenges.issue('latchkey-passkey-stepup', { user, begunUnder }), user.userid)
    },

    /** Exchanges a signature for a token of the same session. Throws `passkey_refused` and `challenge_refused`. */
    async finish(credential: AuthenticationResponseJSON, client: LoggedInClient): Promise<IssuedToken> {
      const { claims, audit } = client
      const challenge = await challenges.read(
        readSignedChallenge(credential, party),
        'latchkey-passkey-stepup',
      )
      const verify = verifyPasskey({ credential, isOnlyFactor: false }, audit)
      const { sub: userid } = claims
      const attempt = { userid, purpose: 'stepUp', challenge: challenge.jti, kind: 'passkey' } as const
      return factorAttempts.run(client, attempt, () =>
        secondFactor.stepUp(client, async (transaction, user) => {
          await challenges.use(transaction, user, challenge)
          return verify(transaction, user)
        }),
      )
    },
  }
}
