import { LatchkeyError, NO_ANSWER } from './client/client.js'
import { loadJson } from './load-json.js'

/** The languages of the pages, by their names. */
export const LANGUAGES = { en: 'English', fr: 'Français', pt: 'Português' }

/** @typedef {keyof typeof LANGUAGES} Language */

/** The texts of the pages in the language of the user; `setLanguage` fills them. */
export const texts = /** @type {typeof import('./texts/en.json')} */ ({})

/**
 * Returns the language that was chosen here, or the first one of the browser that the pages have.
 * @param {string | null} chosen
 */
export const findLanguage = (chosen) =>
  [chosen, ...navigator.languages].map((tag) => tag?.split('-')[0]).find(isLanguage) ?? 'en'

/**
 * @param {string | undefined} tag
 * @returns {tag is Language}
 */
const isLanguage = (tag) => tag !== undefined && Object.hasOwn(LANGUAGES, tag)

/** Returns the language of the pages. */
export const currentLanguage = () => /** @type {Language} */ (document.documentElement.lang)

/** @param {Language} language */
export async function setLanguage(language) {
  if (document.documentElement.lang === language && texts.email) return
  Object.assign(texts, await loadJson(new URL(`./texts/${language}.json`, import.meta.url)))
  document.documentElement.lang = language
}

/**
 * Puts values into a text, each in the place of its name: `{email}`.
 * @param {string} text
 * @param {Record<string, string | number>} values
 */
export const fillText = (text, values) =>
  text.replaceAll(/\{(\w+)\}/g, (placeholder, name) => String(values[name] ?? placeholder))

/**
 * Returns the last part of the type of a problem, by which the pages know it.
 * @param {unknown} error
 */
export const slugOf = (error) => (error instanceof LatchkeyError && error.type.split(':').at(-1)) || ''

/**
 * Says to a user what a call has thrown.
 * @param {unknown} error
 */
export function describeProblem(error) {
  if (!(error instanceof LatchkeyError)) return texts.unreachable
  const { type, status, retryAfter = 0, message } = error
  if (status === 429) return fillText(texts.tooMany, { time: describeWait(retryAfter) })
  if (type === NO_ANSWER) return texts.unreachable
  if (status >= 500) return texts.unavailable
  return /** @type {Record<string, string>} */ (texts.problems)[slugOf(error)] ?? message
}

/**
 * Says a time in seconds as people do.
 * @param {number} seconds
 */
function describeWait(seconds) {
  const isShort = seconds < 100
  return new Intl.NumberFormat(document.documentElement.lang, {
    style: 'unit',
    unit: isShort ? 'second' : 'minute',
    unitDisplay: 'long',
  }).format(isShort ? Math.max(seconds, 1) : Math.ceil(seconds / 60))
}

/**
 * Says a moment as people do.
 * @param {string} iso
 */
export const describeTime = (iso) =>
  new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'medium', timeStyle: 'short' }).format(
    new Date(iso),
  )
