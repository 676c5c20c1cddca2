import { createClient } from './client/client.js'
import { hasPasskeys } from './client/passkeys.js'
import { find } from './element.js'
import { loadJson } from './load-json.js'

/** @import { Client, LatchkeyError } from './client/client.js' */

/** @typedef {import('@latchkey/client/types/api.d.ts').Schemas} Schemas */

const META = find('meta[name="latchkey-api"]')
const ADDRESS = new URL(META.getAttribute('content') ?? '', document.baseURI).href

/** The settings of this installation. */
export const settings = /** @type {import('../types/settings.d.ts').Settings} */ ({})

/** The client of the API. A call throws a `LatchkeyError`. */
export let client = /** @type {Client} */ (/** @type {unknown} */ (undefined))

/**
 * Loads what this installation offers, and creates the client.
 * @param {(challenge: LatchkeyError) => Promise<unknown>} onStepUp
 */
export async function connect(onStepUp) {
  Object.assign(settings, await loadJson(new URL('account/settings.json', ADDRESS)))
  client = createClient({
    url: ADDRESS,
    session: 'cookie',
    refreshWindowSeconds: settings.refresh_window_seconds,
    onStepUp,
    fetch(request) {
      request.headers.set('accept-language', document.documentElement.lang)
      return fetch(request)
    },
  })
}

/** True where the server takes passkeys of this page, and the browser has them. */
export const offersPasskeys = () => settings.passkey_origins.includes(location.origin) && hasPasskeys()
