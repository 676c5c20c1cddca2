import { z } from 'zod'
import type { Fault } from './setting.ts'

/** What is wrong with an issuer. Any text without spaces is one; what looks like a web address has to be one. */
export function findIssuerFault(text: string): Fault | undefined {
  if (/[\s\p{Cc}]/u.test(text)) return { message: 'must not contain white space or control characters' }
  if (text.includes('://') && !isHttpUrl(text))
    return { message: 'must be a URL that starts with https:// or http://' }
  return undefined
}

/** True for a URL that a browser can call. */
export const isHttpUrl = (text: string): boolean =>
  ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '')

/** What is wrong with a list of origins (RFC 6454). A browser sends exactly this form, and it is compared as text. */
export function findCorsFault(items: readonly string[]): Fault | undefined {
  const origins = items.map(originOf)
  if (origins.every((origin, index) => origin === items[index])) return undefined
  const message =
    'must be origins, separated by commas: scheme, host and optional port, without a path or a slash at the end'
  return origins.includes(undefined)
    ? { message }
    : { message, remedy: `Set CORS_ORIGINS=${origins.join(',')}` }
}

function originOf(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url?.host) return undefined
  // Schemes that are not of the web, such as capacitor://localhost, have the origin `null` there.
  return url.origin === 'null' ? `${url.protocol}//${url.host}` : url.origin
}

/** What is wrong with Fastify's list of trusted proxies; a network of all addresses would trust every client. */
export function findProxyFault(items: readonly string[]): Fault | undefined {
  return items.every((item) => TrustedProxy.safeParse(item).success && !item.endsWith('/0'))
    ? undefined
    : { message: 'must be addresses or networks, separated by commas' }
}

const TrustedProxy = z.union([
  z.ipv4(),
  z.ipv6(),
  z.cidrv4(),
  z.cidrv6(),
  z.enum(['loopback', 'linklocal', 'uniquelocal']),
])
