import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { RequestAudit } from '../../../audit/request-audit.ts'
import type { VerifyFactor } from '../second-factor.ts'
import {
  invalidPasskey,
  loadWebAuthn,
  type Passkey,
  type Passkeys,
  passkeysOf,
  type RelyingParty,
  unknownPasskey,
  verifying,
} from './passkey.ts'

export interface UsedPasskey {
  credential: AuthenticationResponseJSON
  /** True where the user logs in by the passkey only. It must then verify the user, by a PIN or a fingerprint. */
  isOnlyFactor: boolean
}

/**
 * Creates the function that shows a factor by a passkey of the user, whose challenge the caller has checked. It refuses a
 * counter that went back: two authenticators have the key, one of them a copy (WebAuthn §6.1.1).
 */
export const verifyPasskey =
  ({ party, localNow }: Passkeys, used: UsedPasskey, audit: Pick<RequestAudit, 'report'>): VerifyFactor =>
  async (db, user) => {
    const factors = createFactorRepository(db)
    const passkey = passkeysOf(await factors.find(user.userid)).find(({ id }) => id === used.credential.id)
    if (!passkey) throw unknownPasskey()
    const { newCounter, credentialBackedUp, credentialDeviceType } = await verifyAssertion(
      passkey,
      used,
      party,
    )
    const { factor, ...known } = passkey
    const lastCounter = factor.lastCounter ?? 0
    if ((newCounter > 0 || lastCounter > 0) && newCounter <= lastCounter) {
      audit.report({ name: 'passkey.copied', userid: user.userid })
      throw new AppError(
        'passkey_refused',
        'The counter of this passkey went back, so there may be a copy of it',
        { reason: 'passkey_copied' },
      )
    }
    const isSynced = credentialDeviceType === 'multiDevice'
    const data = JSON.stringify({ ...known, isSynced, isBackedUp: credentialBackedUp })
    await factors.usePasskey(factor.id, { counter: newCounter, data }, new Date(localNow()))
    // RFC 8176 §2: a key in hardware or in software, and somebody who was there.
    return [isSynced ? 'swk' : 'hwk', 'user']
  }

async function verifyAssertion(
  { id, publicKey, transports }: Passkey,
  { credential, isOnlyFactor }: UsedPasskey,
  party: RelyingParty,
) {
  const { verifyAuthenticationResponse } = await loadWebAuthn()
  const { verified, authenticationInfo } = await verifying(
    verifyAuthenticationResponse({
      response: credential,
      // The caller has checked the challenge of this text.
      expectedChallenge: () => true,
      expectedOrigin: [...party.origins],
      expectedRPID: party.id,
      // The counter is compared by the caller, once the signature is known to be valid.
      credential: {
        id,
        publicKey: Uint8Array.from(Buffer.from(publicKey, 'base64url')),
        counter: 0,
        transports,
      },
      requireUserVerification: false,
    }),
  )
  if (!verified) throw invalidPasskey()
  if (isOnlyFactor && !authenticationInfo.userVerified)
    throw new AppError(
      'passkey_refused',
      'This passkey does not verify who uses it, by a PIN or a fingerprint',
      { reason: 'user_unverified' },
    )
  return authenticationInfo
}
