import { settings } from './api.js'
import { Problem } from './problem.js'

/** @import { Schemas } from './api.js' */

/** True where the server takes passkeys of this page, and the browser has them. */
export const hasPasskeys = () =>
  settings.passkey_origins.includes(location.origin) &&
  Boolean(globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON)

/** True where this browser can offer passkeys where a username is typed. */
export const canOfferPasskeys = async () =>
  hasPasskeys() && Boolean(await PublicKeyCredential.isConditionalMediationAvailable?.())

let pending = new AbortController()

/** A browser takes one request at a time: an offer that waits for the user must not refuse the next one. */
function endPending() {
  pending.abort()
  pending = new AbortController()
  return pending.signal
}

/**
 * Lets the user choose a passkey; `answer` has the options of the server. Returns what proves that the user has it. With the
 * mediation `conditional` it waits until the user chooses one in a field whose `autocomplete` has `webauthn`.
 * @param {{ data: Schemas['PasskeyOptions'] }} answer
 * @param {CredentialMediationRequirement} mediation
 */
export async function usePasskey({ data }, mediation = 'optional') {
  const options = /** @type {PublicKeyCredentialRequestOptionsJSON} */ (
    /** @type {unknown} */ (data.publicKey)
  )
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const request = navigator.credentials.get({ publicKey, mediation, signal: endPending() })
  return /** @type {Schemas['PasskeyLogin']['credential']} */ (await toJson(request))
}

/**
 * Creates a passkey on a device of the user.
 * @param {{ data: Schemas['PasskeyOptions'] }} answer
 */
export async function createPasskey({ data }) {
  const options = /** @type {PublicKeyCredentialCreationOptionsJSON} */ (
    /** @type {unknown} */ (data.publicKey)
  )
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
  const request = navigator.credentials.create({ publicKey, signal: endPending() })
  return /** @type {Schemas['NewPasskey']['credential']} */ (await toJson(request))
}

/**
 * The browser says why it has no credential by the name of an error; cancelling is no failure of the network.
 * @param {Promise<Credential | null>} promise
 */
async function toJson(promise) {
  try {
    return /** @type {PublicKeyCredential} */ (await promise).toJSON()
  } catch (error) {
    const exists = error instanceof DOMException && error.name === 'InvalidStateError'
    throw new Problem(exists ? 'passkey-exists' : 'passkey-cancelled')
  }
}
