/** The longest time for which the pages wait for a file. */
const TIMEOUT_MS = 20_000

/**
 * Loads a file of JSON from the server.
 * @param {URL} url
 */
export async function loadJson(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })
  if (!response.ok) throw new Error(`${url} cannot be loaded`)
  return response.json()
}
