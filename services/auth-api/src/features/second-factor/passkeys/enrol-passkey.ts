import { randomUUID } from 'node:crypto'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { PublicKeyCredentialCreationOptionsJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import type { LoggedInClient } from '../../../http/client.ts'
import { CHALLENGE_SECONDS } from '../../../limits/factor-limiter.ts'
import { addFactor, type EnrolledFactor } from '../add-factor.ts'
import type { ChallengePurpose } from '../challenges.ts'
import { limitAttempt } from '../factor-attempts.ts'
import {
  invalidPasskey,
  loadWebAuthn,
  PASSKEY,
  type Passkeys,
  passkeysOf,
  type RelyingParty,
  readChallenge,
  type StoredPasskey,
  toDescriptor,
  toUserHandle,
  verifying,
} from './passkey.ts'

export interface Registration {
  name?: string | undefined
  credential: RegistrationResponseJSON
}

const MAX_PASSKEYS = 10
/** EdDSA, ES256 and RS256. */
const ALGORITHMS = [-8, -7, -257]
/** An RSA key of 4,096 bits has half as many. */
const MAX_KEY_BYTES = 1_100

const PURPOSE: ChallengePurpose = 'latchkey-passkey-registration'

/** Returns the options of `navigator.credentials.create`. Throws `too_many_factors`, and what the guard throws. */
export async function beginPasskeyEnrolment(
  { db, guard, challenges, party }: Passkeys,
  currentPassword: string | undefined,
  client: LoggedInClient,
): Promise<PublicKeyCredentialCreationOptionsJSON> {
  const { user, begunUnder } = await guard.begin('addFactor', client, currentPassword)
  const passkeys = passkeysOf(await createFactorRepository(db).find(user.userid))
  if (passkeys.length >= MAX_PASSKEYS) throw tooManyPasskeys()
  const { generateRegistrationOptions } = await loadWebAuthn()
  const label = user.email ?? user.username
  return generateRegistrationOptions({
    rpID: party.id,
    rpName: party.name,
    userID: toUserHandle(user.userid),
    userName: label,
    userDisplayName: user.name || label,
    challenge: await challenges.issue(PURPOSE, { user, begunUnder }),
    timeout: CHALLENGE_SECONDS * 1_000,
    // No certificate of a maker is asked for, and none is accepted: to check one can mean to fetch an address that is in it.
    attestationType: 'none',
    excludeCredentials: passkeys.map(toDescriptor),
    authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
    supportedAlgorithmIDs: ALGORITHMS,
  })
}

/**
 * Adds the passkey that the browser has created; returns a token of a login with it. Throws `passkey_refused`,
 * `challenge_refused`, and what the guard throws.
 */
export function verifyPasskeyEnrolment(
  passkeys: Passkeys,
  registration: Registration,
  client: LoggedInClient,
): Promise<EnrolledFactor> {
  const attempt = { userid: client.claims.sub, purpose: 'enrolment', kind: PASSKEY } as const
  return limitAttempt(passkeys, client, attempt, () => addPasskey(passkeys, registration, client))
}

async function addPasskey(
  passkeys: Passkeys,
  { name, credential }: Registration,
  client: LoggedInClient,
): Promise<EnrolledFactor> {
  const { challenges, party, localNow } = passkeys
  const text = readChallenge(credential.response.clientDataJSON, 'webauthn.create', party)
  const challenge = await challenges.read(text, PURPOSE)
  const { data, counter } = await verifyRegistration(credential, party)
  return addFactor(passkeys, PASSKEY, client, async (transaction, locked) => {
    // No passkey was added since the options were issued, so there are not too many.
    const user = await challenges.complete(transaction, locked, challenge, client.claims)
    const factors = createFactorRepository(transaction)
    if (passkeysOf(await factors.find(user.userid)).some(({ id }) => id === data.id))
      throw new AppError('passkey_refused', 'You have this passkey already')
    const now = new Date(localNow())
    const id = randomUUID()
    await factors.insert(
      { id, userid: user.userid, kind: PASSKEY.name, name, data: JSON.stringify(data) },
      now,
    )
    await factors.confirm(id, counter, now)
    return { user, amr: [data.isSynced ? 'swk' : 'hwk', 'user'] }
  })
}

async function verifyRegistration(
  credential: RegistrationResponseJSON,
  { id, origins }: RelyingParty,
): Promise<{ data: StoredPasskey; counter: number }> {
  const { verifyRegistrationResponse } = await loadWebAuthn()
  if (await verifying(hasCertificate(credential.response.attestationObject)))
    throw new AppError('passkey_refused', 'The passkey sent a certificate of its maker', {
      reason: 'passkey_certified',
    })
  const { registrationInfo } = await verifying(
    verifyRegistrationResponse({
      response: credential,
      // The caller has checked the challenge of this text.
      expectedChallenge: () => true,
      expectedOrigin: [...origins],
      expectedRPID: id,
      requireUserVerification: false,
      supportedAlgorithmIDs: ALGORITHMS,
    }),
  )
  if (!registrationInfo || registrationInfo.credential.publicKey.length > MAX_KEY_BYTES)
    throw invalidPasskey()
  const { credential: newCredential, credentialDeviceType, credentialBackedUp } = registrationInfo
  return {
    data: {
      id: newCredential.id,
      publicKey: Buffer.from(newCredential.publicKey).toString('base64url'),
      transports: newCredential.transports ?? [],
      isSynced: credentialDeviceType === 'multiDevice',
      isBackedUp: credentialBackedUp,
    },
    counter: newCredential.counter,
  }
}

/** Returns true for a format that is neither `none`, nor `packed` signed by the passkey itself (WebAuthn §8.2). */
async function hasCertificate(attestationObject: string): Promise<boolean> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers')
  const decoded = decodeAttestationObject(Uint8Array.from(Buffer.from(attestationObject, 'base64url')))
  const format = decoded.get('fmt')
  return format !== 'none' && (format !== 'packed' || decoded.get('attStmt').get('x5c') !== undefined)
}

const tooManyPasskeys = () => new AppError('too_many_factors', `You have ${MAX_PASSKEYS} passkeys`)
