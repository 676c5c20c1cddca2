import { loadJson } from './load-json.js'

/** @typedef {'en' | 'fr' | 'pt'} Language */

/** The languages of the pages, by their names. */
export const LANGUAGES = { en: 'English', fr: 'Français', pt: 'Português' }

/** What the pages say, in the language of the user. */
export const texts = {}

/** The language that was chosen here, or the first one of the browser that the pages have. */
export const findLanguage = (chosen) =>
  [chosen, ...navigator.languages].map((tag) => tag?.split('-')[0]).find((tag) => tag in LANGUAGES) ?? 'en'

/** The language of the pages. */
export const currentLanguage = () => /** @type {Language} */ (document.documentElement.lang)

export async function setLanguage(language) {
  if (document.documentElement.lang === language && texts.email) return
  Object.assign(texts, await loadJson(new URL(`./texts/${language}.json`, import.meta.url)))
  document.documentElement.lang = language
}

/** Puts values into a text, each in the place of its name: `{email}`. */
export const fillText = (text, values) =>
  text.replaceAll(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder)

/** Says to a user what a call has thrown. */
export function describeProblem({ slug, status, detail, title, retryAfterSeconds }) {
  if (!slug) return texts.unreachable
  if (status === 429) return fillText(texts.tooMany, { time: describeWait(retryAfterSeconds) })
  if (status >= 500) return texts.unavailable
  return texts.problems[slug] ?? detail ?? title
}

/** A time in seconds, as people say it. */
function describeWait(seconds) {
  const [count, unit] = seconds < 100 ? [Math.max(seconds, 1), 'second'] : [Math.ceil(seconds / 60), 'minute']
  return new Intl.NumberFormat(document.documentElement.lang, {
    style: 'unit',
    unit,
    unitDisplay: 'long',
  }).format(count)
}

/** A moment, as people say it. */
export const describeTime = (iso) =>
  new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: 'medium', timeStyle: 'short' }).format(
    new Date(iso),
  )
