import { settings } from './api.js'

/** Whether the server takes passkeys of this page, and the browser has them. */
export const hasPasskeys = () =>
  settings.passkey_origins.includes(location.origin) &&
  Boolean(globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON)

/** Whether this browser can offer passkeys where a username is typed. */
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
 * @param {CredentialMediationRequirement} mediation
 */
export async function usePasskey(answer, mediation = 'optional') {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(answer.data.publicKey)
  return toJson(navigator.credentials.get({ publicKey, mediation, signal: endPending() }))
}

/** Creates a passkey on a device of the user. */
export async function createPasskey(answer) {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(answer.data.publicKey)
  return toJson(navigator.credentials.create({ publicKey, signal: endPending() }))
}

/** The browser says why it has no credential by the name of an error; cancelling is no failure of the network. */
async function toJson(promise) {
  try {
    return (await promise).toJSON()
  } catch (error) {
    throw Object.assign(error, {
      slug: error.name === 'InvalidStateError' ? 'passkey-exists' : 'passkey-cancelled',
    })
  }
}
