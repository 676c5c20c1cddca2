import { LatchkeyError } from './error.js'

/** @import { Schemas } from '../types/api.d.ts' */
/** @import { Client } from './client.js' */

/** @typedef {Schemas['PasskeyLogin']['credential']} ChosenPasskey */

/** The `type` of an error for a device that has a passkey of this account already. */
export const PASSKEY_EXISTS = 'urn:latchkey:client:passkey-exists'
/** The `type` of an error for a ceremony that the user, or the browser, has ended. */
export const PASSKEY_CANCELLED = 'urn:latchkey:client:passkey-cancelled'

/** True where this browser has passkeys. */
export const hasPasskeys = () => Boolean(globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON)

/** True where this browser can offer passkeys in a field whose `autocomplete` has `webauthn`. */
export const canOfferPasskeys = async () =>
  hasPasskeys() && Boolean(await PublicKeyCredential.isConditionalMediationAvailable?.())

/**
 * Lets the user choose a passkey to log in by. With the mediation `conditional` this waits until one is chosen in a field.
 * @param {Client} client
 * @param {{ challenge?: string | undefined, mediation?: CredentialMediationRequirement }} [given] `challenge` is that of a
 *   login by password.
 */
export async function choosePasskey(client, { challenge, mediation } = {}) {
  const answer = await client.request('POST', '/login/passkey/options', challenge ? { challenge } : {})
  return get(answer, mediation)
}

/**
 * Logs in by a passkey: alone, or as the second factor with the `challenge` of a login by password.
 * @param {Client} client
 * @param {{ challenge?: string | undefined, credential?: ChosenPasskey | undefined, remember?: boolean }} [given]
 */
export async function logInByPasskey(client, { challenge, credential, ...given } = {}) {
  return client.enter('/login/passkey', {
    ...given,
    credential: credential ?? (await choosePasskey(client, { challenge })),
  })
}

/**
 * Confirms the login by a passkey, as `stepUp` does by a code.
 * @param {Client} client
 */
export async function stepUpByPasskey(client) {
  const credential = await get(await client.request('POST', '/login/stepup/passkey/options'))
  return client.request('POST', '/login/stepup/passkey', { credential })
}

/**
 * Adds a passkey of this device to the account. The first factor of a user comes with recovery codes.
 * @param {Client} client
 * @param {{ name?: string | undefined, current_password?: string | undefined }} given
 */
export async function addPasskey(client, { name, current_password }) {
  const asked = current_password === undefined ? {} : { current_password }
  const { publicKey } = await client.request('POST', '/profile/factors/passkey', asked)
  const options = /** @type {PublicKeyCredentialCreationOptionsJSON} */ (/** @type {unknown} */ (publicKey))
  const parsed = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const created = await toJson(navigator.credentials.create({ publicKey: parsed, signal: endPending() }))
  const credential = /** @type {Schemas['NewPasskey']['credential']} */ (created)
  return client.request('POST', '/profile/factors/passkey/confirm', { credential, ...(name && { name }) })
}

let pending = new AbortController()

/** A browser takes one request at a time: an offer that waits for the user must not refuse the next one. */
function endPending() {
  pending.abort()
  pending = new AbortController()
  return pending.signal
}

/**
 * @param {Schemas['PasskeyOptions']} answer
 * @param {CredentialMediationRequirement} [mediation]
 */
async function get({ publicKey }, mediation = 'optional') {
  const options = /** @type {PublicKeyCredentialRequestOptionsJSON} */ (/** @type {unknown} */ (publicKey))
  const parsed = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const chosen = navigator.credentials.get({ publicKey: parsed, mediation, signal: endPending() })
  return /** @type {ChosenPasskey} */ (await toJson(chosen))
}

/**
 * The browser says by the name of an error why it has no credential.
 * @param {Promise<Credential | null>} promise
 */
async function toJson(promise) {
  try {
    return /** @type {PublicKeyCredential} */ (await promise).toJSON()
  } catch (cause) {
    const exists = cause instanceof DOMException && cause.name === 'InvalidStateError'
    throw new LatchkeyError({ type: exists ? PASSKEY_EXISTS : PASSKEY_CANCELLED }, { cause })
  }
}
