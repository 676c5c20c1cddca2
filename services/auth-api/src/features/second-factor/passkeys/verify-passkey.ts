import type { Clock } from '@latchkey/shared/time/clock.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { RequestAudit } from '../../../audit/request-audit.ts'
import type { VerifyFactor } from '../second-factor.ts'
import {
  INVALID,
  loadWebAuthn,
  type Passkey,
  passkeyRefused,
  passkeysOf,
  type RelyingParty,
  unknownPasskey,
  verifying,
} from './passkey.ts'

export interface VerifyPasskeyDependencies {
  party: RelyingParty
  localNow: Clock
}

export interface UsedPasskey {
  credential: AuthenticationResponseJSON
  /** Whether the user logs in by the passkey only. It must then verify the user, by a PIN or a fingerprint. */
  isOnlyFactor: boolean
}

export type VerifyPasskey = (used: UsedPasskey, audit: Pick<RequestAudit, 'report'>) => VerifyFactor

/**
 * Creates the function that shows a factor by a passkey of the user, whose challenge the caller has checked. It refuses a
 * counter that went back: two authenticators have the key, one of them a copy (WebAuthn §6.1.1).
 */
export function createVerifyPasskey({ party, localNow }: VerifyPasskeyDependencies): VerifyPasskey {
  async function verify(passkey: Passkey, { credential, isOnlyFactor }: UsedPasskey) {
    const { verifyAuthenticationResponse } = await loadWebAuthn()
    const { id, publicKey, transports } = passkey
    const { verified, authenticationInfo } = await verifying(
      verifyAuthenticationResponse({
        response: credential,
        // The caller has checked the challenge of this text.
        expectedChallenge: () => true,
        expectedOrigin: [...party.origins],
        expectedRPID: party.id,
        // The counter is compared below, once the signature is known to be valid.
        credential: {
          id,
          publicKey: Uint8Array.from(Buffer.from(publicKey, 'base64url')),
          counter: 0,
          transports,
        },
        requireUserVerification: false,
      }),
    )
    if (!verified) throw passkeyRefused(INVALID)
    if (isOnlyFactor && !authenticationInfo.userVerified)
      throw passkeyRefused(
        'This passkey does not verify who uses it, by a PIN or a fingerprint; log in with the password, and use it then',
      )
    return authenticationInfo
  }

  return (used, audit) => async (db, user) => {
    const factors = createFactorRepository(db)
    const passkey = passkeysOf(await factors.find(user.userid)).find(({ id }) => id === used.credential.id)
    if (!passkey) throw unknownPasskey()
    const { newCounter, credentialBackedUp, credentialDeviceType } = await verify(passkey, used)
    const { factor, ...known } = passkey
    const lastCounter = factor.lastCounter ?? 0
    if ((newCounter > 0 || lastCounter > 0) && newCounter <= lastCounter) {
      audit.report({ name: 'passkey.copied', userid: user.userid })
      throw passkeyRefused(
        'The counter of this passkey went back, so there may be a copy of it; log in another way, and remove the passkey',
      )
    }
    const isSynced = credentialDeviceType === 'multiDevice'
    const data = JSON.stringify({ ...known, isSynced, isBackedUp: credentialBackedUp })
    await factors.usePasskey(factor.id, { counter: newCounter, data }, new Date(localNow()))
    // RFC 8176 §2: a key in hardware or in software, and somebody who was there.
    return [isSynced ? 'swk' : 'hwk', 'user']
  }
}
