import type { Queryable } from '@latchkey/shared/database/database.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server'
import { CHALLENGE_SECONDS } from '../challenges.ts'
import { loadWebAuthn, passkeyRefused, passkeysOf, type RelyingParty, toDescriptor } from './passkey.ts'

export type PasskeyOptions = ReturnType<typeof createPasskeyOptions>

/**
 * Creates the function that returns the options of `navigator.credentials.get`: for a passkey of `userid`, and without a user
 * for any passkey that verifies its owner. Throws `passkey_refused` for a user without one.
 */
export const createPasskeyOptions =
  ({ db, party }: { db: Queryable; party: RelyingParty }) =>
  async (challenge: string, userid?: string): Promise<PublicKeyCredentialRequestOptionsJSON> => {
    const passkeys = userid ? passkeysOf(await createFactorRepository(db).find(userid)) : []
    if (userid && passkeys.length === 0) throw passkeyRefused('You have no passkey; use another factor')
    const { generateAuthenticationOptions } = await loadWebAuthn()
    return generateAuthenticationOptions({
      rpID: party.id,
      challenge,
      timeout: CHALLENGE_SECONDS * 1_000,
      userVerification: userid ? 'preferred' : 'required',
      allowCredentials: passkeys.map(toDescriptor),
    })
  }
