/** @import { Options, Saved } from '../types/api.d.ts' */

/**
 * Keeps a session for all tabs in `localStorage`. One that is not shared is kept in memory, and so is each where the kind is
 * `memory` or the browser has no room. `onChange` is called after a change by another tab.
 * @param {{ kind: Options['session'], key: string, signal: AbortSignal, onChange: () => void }} given
 */
export function createStore({ kind, key, signal, onChange }) {
  const storage = kind === 'memory' ? undefined : openStorage()
  /** @type {Saved | undefined} */
  let kept
  /** @param {StorageEvent} event */
  const hear = (event) => [key, null].includes(event.key) && onChange()
  if (storage) globalThis.addEventListener?.('storage', hear, { signal })
  return {
    hasTabs: storage !== undefined,
    /** @returns {Saved | undefined} */
    read: () => kept ?? parse(storage?.getItem(key)),
    /** @param {Saved | undefined} session */
    write(session) {
      kept = session
      if (!session?.isShared) return storage?.removeItem(key)
      try {
        storage?.setItem(key, JSON.stringify(session))
        if (storage) kept = undefined
      } catch {
        storage?.removeItem(key)
      }
    },
  }
}

/** Returns the storage of the browser, which throws where the user blocks cookies. */
function openStorage() {
  try {
    return globalThis.localStorage
  } catch {
    return undefined
  }
}

/** @type {(text: string | null | undefined) => Saved | undefined} */
function parse(text) {
  try {
    const saved = JSON.parse(text ?? 'null')
    // Another program may have written it.
    return saved?.user && readClaims(saved.token).exp ? saved : undefined
  } catch {
    return undefined
  }
}

/**
 * Reads the payload of a token. Only the server can tell if it is genuine.
 * @type {(token: string) => { iat: number, exp: number, sid: string }}
 */
export function readClaims(token) {
  const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}
