import { settings } from './api.js'

/** Whether the server has passkeys, and this browser too. */
export const hasPasskeys = () =>
  Boolean(settings.passkeys && globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON)

/** Lets the user choose a passkey; `answer` has the options of the server. Returns what proves that the user has it. */
export async function usePasskey(answer) {
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(answer.data.publicKey)
  return toJson(navigator.credentials.get({ publicKey: options }))
}

/** Creates a passkey on a device of the user. */
export async function createPasskey(answer) {
  const options = PublicKeyCredential.parseCreationOptionsFromJSON(answer.data.publicKey)
  return toJson(navigator.credentials.create({ publicKey: options }))
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
