/** @import { Kind, User } from '../types/api.d.ts' */

/**
 * @typedef {object} Saved What is kept of a session.
 * @property {string} token The access token.
 * @property {number} expiresAt When that expires, in milliseconds, by the clock of this machine.
 * @property {User} user
 * @property {'body' | 'cookie' | 'bearer'} refreshBy What a refresh sends: a refresh token, or the access token alone.
 * @property {string | undefined} [refreshToken]
 * @property {boolean} isShared True where all tabs have the session.
 * @property {number} [attemptedAt] When a refresh was last sent.
 * @property {number} [pauseMs] How long no other one is sent after that.
 */

/**
 * Keeps a session for all tabs in `localStorage`. One that is not shared is kept in memory, and so is each where the kind is
 * `memory` or the browser has no room. `onChange` is called after a change by another tab.
 * @param {{ kind: Kind, key: string, signal: AbortSignal, onChange: () => void }} given
 */
export function createStore({ kind, key, signal, onChange }) {
  const storage = kind === 'memory' ? undefined : openStorage()
  /** @type {Saved | undefined} */
  let kept
  if (storage)
    globalThis.addEventListener?.('storage', (event) => [key, null].includes(event.key) && onChange(), {
      signal,
    })
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

/**
 * @param {string | null | undefined} text
 * @returns {Saved | undefined}
 */
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
 * @param {string} token
 * @returns {{ iat: number, exp: number, sid: string }}
 */
export function readClaims(token) {
  const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')
  const bytes = Uint8Array.from(atob(payload), (character) => character.charCodeAt(0))
  return JSON.parse(new TextDecoder().decode(bytes))
}
