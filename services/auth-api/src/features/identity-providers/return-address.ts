const MAX_LENGTH = 1_024

/** Returns what is wrong with the address of a page to which a login comes back, as a predicate. */
export function findReturnFault(text: string, origins: readonly string[]): string | undefined {
  if (text.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`
  // Browsers read a back slash as a slash, and drop the others.
  if (/[\\\s\p{Cc}]/u.test(text)) return 'must not contain a back slash, white space or control characters'
  const url = URL.parse(text)
  // `url.origin` is null for schemes that are not of the web, such as capacitor://localhost.
  if (!url || !/^[a-z][a-z0-9+.-]*:\/\//i.test(text))
    return 'must be a whole address, such as https://app.example.com/login'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name'
  if (url.hash !== '' || text.endsWith('#')) return 'must not have a fragment'
  return origins.includes(`${url.protocol}//${url.host}`)
    ? undefined
    : 'must be of the origin of this service, or of one in CORS_ORIGINS'
}

/** Returns the address with what the page has to know, in place of what it had of these names. */
export function addToAddress(address: string, added: Readonly<Record<string, string | undefined>>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(added))
    if (value !== undefined) url.searchParams.set(name, value)
  return url.href
}
