import { find } from './element.js'
import { loadJson, TIMEOUT_MS } from './load-json.js'
import createClient from './openapi-fetch.mjs'
import { Problem } from './problem.js'
import { createSession } from './session.js'

/** @typedef {import('@latchkey/client/types/openapi.d.ts').components['schemas']} Schemas */

const META = find('meta[name="latchkey-api"]')
const ADDRESS = new URL(META.getAttribute('content') ?? '', document.baseURI).href
const INSUFFICIENT = 'error="insufficient_user_authentication"'

const client = createClient({ baseUrl: ADDRESS, fetch: send })

/** The client of the API. A call throws a `Problem` where it is refused, and another error where there is no answer. */
export const api = /** @type {import('../types/client.d.ts').ThrowingClient} */ (client)

/**
 * Asks the user for a second factor; step-up.js sets it.
 * @type {{ ask?: () => Promise<unknown> }}
 */
export const stepUp = {}

/**
 * Sends a request, and again once the user has shown the second factor that it needs (RFC 9470).
 * @param {Request} request
 */
async function send(request) {
  const again = request.clone()
  const response = await fetch(request, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (response.status !== 401 || !response.headers.get('www-authenticate')?.includes(INSUFFICIENT))
    return response
  await stepUp.ask?.()
  again.headers.set('authorization', `Bearer ${session.token()}`)
  return fetch(again, { signal: AbortSignal.timeout(TIMEOUT_MS) })
}

export const session = createSession({
  refresh: async () => (await api.POST('/refreshtoken')).data.token,
  onEnd: () => document.dispatchEvent(new Event('session-ended')),
})

api.use({
  onRequest({ request }) {
    const token = session.token()
    if (token) request.headers.set('authorization', `Bearer ${token}`)
    request.headers.set('accept-language', document.documentElement.lang)
  },
  async onResponse({ request, response }) {
    if (response.ok) return
    // A proxy answers 502 without a problem; that is like no answer.
    const problem = await response.json().catch(() => ({}))
    const sent = request.headers.get('authorization')
    const isCurrent = sent !== null && sent === `Bearer ${session.token()}`
    if (problem.type === 'urn:latchkey:problem:invalid-token' && isCurrent) session.end()
    const retryAfterSeconds = readRetryAfter(response.headers.get('retry-after') ?? '')
    throw new Problem(problem.type?.split(':').at(-1), problem, retryAfterSeconds)
  },
})

/**
 * Reads the header Retry-After in seconds; a proxy may send a date (RFC 9110 §10.2.3).
 * @param {string} value
 */
const readRetryAfter = (value) =>
  Number(value) || Math.max(0, Math.ceil((Date.parse(value) - Date.now()) / 1000)) || 0

/** The settings of this installation; `loadSettings` fills them. */
export const settings = /** @type {import('../types/settings.d.ts').Settings} */ ({})

/** Loads what this installation offers. */
export async function loadSettings() {
  Object.assign(settings, await loadJson(new URL('account/settings.json', ADDRESS)))
}
