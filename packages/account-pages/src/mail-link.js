/**
 * The page of each link that a mail has.
 * @type {Record<string, string>}
 */
const PAGE_OF = { reset: 'code', login: 'mail-code', signup: 'signup-code', email: 'profile' }

/** Turns the address of a link of a mail into that of its page, whose state has what the link fills in. Nothing is sent. */
export function readMailLink() {
  const [name = '', query] = location.hash.slice(1).split('?', 2)
  if (query === undefined) return
  const given = new URLSearchParams(query)
  // Any page can link here, so nothing else of the state is taken, and the address keeps no code.
  const state = Object.fromEntries(
    ['email', 'code', 'token'].map((key) => [key, given.get(key) ?? undefined]),
  )
  history.replaceState(state, '', `#${Object.hasOwn(PAGE_OF, name) ? PAGE_OF[name] : ''}`)
}
