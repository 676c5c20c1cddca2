/** A cookie that only this service reads, on every path of its host. */
export interface OwnCookie {
  name: string
  value: string
  maxAgeSeconds: number
  /** False where the service is reached by http: on a developer's machine. */
  isSecure: boolean
}

/** Returns the name that a cookie of this host has. With the prefix, no other host of the domain can set it (RFC 6265bis §4.1.3). */
export const cookieName = (name: string, isSecure: boolean): string => `${isSecure ? '__Host-' : ''}${name}`

/** Returns a cookie as `Set-Cookie` takes it. A browser sends it with a link to this service, and with no other request of another site. */
export const formatCookie = ({ name, value, maxAgeSeconds, isSecure }: OwnCookie): string =>
  `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; ${isSecure ? 'Secure; ' : ''}SameSite=Lax`

/** Returns the cookies of a request, by their names. Of two with one name, the first counts. */
export function readCookies({ cookie = '' }: { cookie?: string | undefined }): Map<string, string> {
  const pairs = cookie.split(/; */).map((pair): [string, string] => {
    const [name = '', ...value] = pair.split('=')
    return [name.trim(), value.join('=')]
  })
  return new Map(pairs.reverse())
}
