import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { Client } from '../../../http/client.ts'
import type { IssuedToken } from '../../../tokens/issue-token.ts'
import type { SecondFactor } from '../second-factor.ts'
import {
  fromUserHandle,
  INVALID,
  passkeyRefused,
  type RelyingParty,
  readSignedChallenge,
  unknownPasskey,
} from './passkey.ts'
import type { PasskeyOptions } from './passkey-options.ts'
import type { VerifyPasskey } from './verify-passkey.ts'

export interface LogInByPasskeyDependencies {
  party: RelyingParty
  secondFactor: Pick<SecondFactor, 'challenges' | 'answer' | 'factorAttempts'>
  toOptions: PasskeyOptions
  verifyPasskey: VerifyPasskey
}

/** Creates the login by a passkey: as its second step, or without a password. */
export function createLogInByPasskey(dependencies: LogInByPasskeyDependencies) {
  const { party, secondFactor, toOptions, verifyPasskey } = dependencies
  const { challenges, factorAttempts } = secondFactor

  return {
    /** Returns the options for the challenge of a login; without one, for a login without a password. Throws `challenge_refused`. */
    async options(challenge: string | undefined) {
      if (challenge === undefined) return toOptions(await challenges.issue('latchkey-passkey'))
      const { sub } = await challenges.read(challenge, 'latchkey-second-factor')
      return toOptions(challenge, sub)
    },

    /** Exchanges a signature for a token. Throws `passkey_refused` and `challenge_refused`. */
    async finish(credential: AuthenticationResponseJSON, client: Client): Promise<IssuedToken> {
      const { audit } = client
      const text = readSignedChallenge(credential, party)
      const challenge = await challenges.read(text, 'latchkey-second-factor', 'latchkey-passkey')
      const isOnlyFactor = challenge.aud === 'latchkey-passkey'
      // In a login without a password, the authenticator names the user; the signature is checked afterwards.
      const userid = isOnlyFactor ? fromUserHandle(credential.response.userHandle) : challenge.sub
      if (userid === undefined) throw passkeyRefused(INVALID)
      const attempt = {
        userid,
        challenge: challenge.jti,
        kind: 'passkey',
        followsPassword: !isOnlyFactor,
      } as const
      return factorAttempts.logIn(client, attempt, () =>
        secondFactor.answer(challenge, verifyPasskey({ credential, isOnlyFactor }, audit), audit, {
          userid,
          ...(isOnlyFactor ? { unknown: unknownPasskey } : {}),
        }),
      )
    },
  }
}
