import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import type { Client, LoggedInClient } from '../../../http/client.ts'
import { CHALLENGE_SECONDS } from '../../../limits/factor-limiter.ts'
import type { Caller } from '../../../tokens/claims.ts'
import type { IssuedLogin, IssuedToken } from '../../../tokens/issue-token.ts'
import type { RefreshForm } from '../../../tokens/refresh-token.ts'
import { type ChallengePurpose, LOGIN, LOGIN_WITHOUT_PASSWORD } from '../challenges.ts'
import { verifyLogin } from '../verify-login.ts'
import { verifyStepUp } from '../verify-step-up.ts'
import {
  fromUserHandle,
  invalidPasskey,
  loadWebAuthn,
  PASSKEY,
  type Passkeys,
  passkeysOf,
  readSignedChallenge,
  toDescriptor,
  unknownPasskey,
} from './passkey.ts'
import { verifyPasskey } from './verify-passkey.ts'

type RequestOptions = PublicKeyCredentialRequestOptionsJSON

const STEP_UP: ChallengePurpose = 'latchkey-passkey-stepup'

/**
 * Returns the options of a passkey for the challenge of a login; without one, for a login without a password. Throws
 * `challenge_refused`, and `passkey_refused` for a user without a passkey.
 */
export async function beginPasskeyLogin(
  passkeys: Passkeys,
  challenge: string | undefined,
): Promise<RequestOptions> {
  const { challenges } = passkeys
  if (challenge === undefined) return createOptions(passkeys, await challenges.issue(LOGIN_WITHOUT_PASSWORD))
  const { sub } = await challenges.read(challenge, LOGIN)
  return createOptions(passkeys, challenge, sub)
}

/** Exchanges a signature for a token. Throws `passkey_refused`, `challenge_refused`, and what `verifyLogin` throws. */
export async function verifyPasskeyLogin(
  passkeys: Passkeys,
  { credential, remember }: { credential: AuthenticationResponseJSON; remember: RefreshForm | undefined },
  client: Client,
): Promise<IssuedLogin> {
  const text = readSignedChallenge(credential, passkeys.party)
  const challenge = await passkeys.challenges.read(text, LOGIN, LOGIN_WITHOUT_PASSWORD)
  const isOnlyFactor = challenge.aud === LOGIN_WITHOUT_PASSWORD
  const verify = verifyPasskey(passkeys, { credential, isOnlyFactor }, client.audit)
  const login = { challenge, kind: PASSKEY, verify, remember }
  if (!isOnlyFactor) return verifyLogin(passkeys, login, client)
  // The authenticator names the user; the signature is checked afterwards.
  const userid = fromUserHandle(credential.response.userHandle)
  if (userid === undefined) throw invalidPasskey()
  return verifyLogin(passkeys, { ...login, userid, userNotFound: unknownPasskey }, client)
}

/** Returns the options for a passkey of the user. Throws `invalid_token`, and `passkey_refused` for a user without one. */
export async function beginPasskeyStepUp(passkeys: Passkeys, { claims }: Caller): Promise<RequestOptions> {
  const { db, getTokenUser, guard, challenges } = passkeys
  const user = await getTokenUser(db, claims)
  const begunUnder = await guard.describe(user)
  return createOptions(passkeys, await challenges.issue(STEP_UP, { user, begunUnder }), user.userid)
}

/** Exchanges a signature for a token of the same session. Throws `passkey_refused`, `challenge_refused`, and what `verifyStepUp` throws. */
export async function verifyPasskeyStepUp(
  passkeys: Passkeys,
  credential: AuthenticationResponseJSON,
  client: LoggedInClient,
): Promise<IssuedToken> {
  const challenge = await passkeys.challenges.read(readSignedChallenge(credential, passkeys.party), STEP_UP)
  const verify = verifyPasskey(passkeys, { credential, isOnlyFactor: false }, client.audit)
  return verifyStepUp(passkeys, { kind: PASSKEY, challenge, verify }, client)
}

/**
 * Creates the options of `navigator.credentials.get`: for a passkey of `userid`, and without a user for any passkey that
 * verifies its owner. Throws `passkey_refused` for a user without one.
 */
async function createOptions(
  { db, party }: Passkeys,
  challenge: string,
  userid?: string,
): Promise<RequestOptions> {
  const passkeys = userid ? passkeysOf(await createFactorRepository(db).find(userid)) : []
  if (userid && passkeys.length === 0)
    throw new AppError('passkey_refused', 'You have no passkey', { reason: 'passkey_missing' })
  const { generateAuthenticationOptions } = await loadWebAuthn()
  return generateAuthenticationOptions({
    rpID: party.id,
    challenge,
    timeout: CHALLENGE_SECONDS * 1_000,
    userVerification: userid ? 'preferred' : 'required',
    allowCredentials: passkeys.map(toDescriptor),
  })
}
